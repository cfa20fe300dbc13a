#include "setup/client_config.hpp"

#include <gtest/gtest.h>

#include "remote/ssh.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(CheckName, RefusesWhatIsMoreThanAName) {
  EXPECT_TRUE(check_name("node-01.rack_2").has_value());
  EXPECT_TRUE(check_name("2001:db8::1").has_value());
  for (const char* name :
       {"", "-oProxyCommand=x", "..", "../x", "a/b", "a b", "*", "!n1", "n%h", "n1\n", "n1\tx"}) {
    EXPECT_FALSE(check_name(name).has_value()) << name;
  }
}

TEST(CheckEntry, RefusesWhatWouldBreakOutOfItsLine) {
  EXPECT_TRUE(check_entry({"n1", "dev", 22, "/home/my user/key"}).has_value());
  EXPECT_FALSE(check_entry({"n1", "dev\n  ProxyCommand x", 22, ""}).has_value());
  EXPECT_FALSE(check_entry({"n1", "-x", 22, ""}).has_value());
  EXPECT_FALSE(check_entry({"n1", "dev", 22, "/k\"\n"}).has_value());
  EXPECT_FALSE(check_entry({"n1", "dev", 65536, ""}).has_value());
}

TEST(Entries, ComeBackAsTheyWereWritten) {
  const std::vector<Entry> entries = {{"n1"}, {"n2", "dev", 2222, "/home/dev/my key"}};
  EXPECT_EQ(parse_entries(entries_text(entries), "hosts").value(), entries);
}

TEST(Entries, ABrokenLineIsNamed) {
  const auto entries = parse_entries("n1\t-\t-\t-\nn2\t-\tmany\t-\n", "hosts");
  ASSERT_FALSE(entries.has_value());
  EXPECT_EQ(to_text(entries.error()).rfind("hosts:2: ", 0), 0U);
}

TEST(Merge, AddsAndNeverDrops) {
  const std::vector<Entry> wanted = {{"n2", "", 2222, ""}, {"n3", "dev"}};
  const auto merged = merge({{"n1"}, {"n2", "dev", 0, "/k"}}, wanted);
  EXPECT_EQ(merged, (std::vector<Entry>{{"n1"}, {"n2", "dev", 2222, "/k"}, {"n3", "dev"}}));
}

TEST(ConfigText, ChecksHostKeysAgainstOneFileAHost) {
  const std::string text = config_text(std::vector<Entry>{{"n1"}, {"n2"}});
  EXPECT_EQ(count(text, "Host n1 n2\n"), 1U);
  EXPECT_EQ(count(text, "  StrictHostKeyChecking yes\n"), 1U);
  EXPECT_EQ(count(text, "  UserKnownHostsFile ~/.ssh/muster/known_hosts.d/%n\n"), 1U);
  EXPECT_EQ(count(text, "  IdentitiesOnly yes\n"), 1U);
  EXPECT_EQ(count(text, "  ControlPath ~/.ssh/muster/cm/%C\n"), 1U);
  EXPECT_EQ(count(text, "  KnownHostsCommand none\n  VerifyHostKeyDNS no\n"), 1U);
}

TEST(ConfigText, HostsWithOtherSettingsGetABlockOfTheirOwn) {
  const std::string text =
      config_text(std::vector<Entry>{{"n1"}, {"n2", "dev", 2222, "/my 100% key"}, {"n3"}});
  EXPECT_EQ(count(text, "Host n1 n3\n"), 1U);
  EXPECT_EQ(count(text, "Host n2\n  User dev\n  Port 2222\n  IdentityFile \"/my 100%% key\"\n"),
            1U);
}

// Plain ssh and muster must use the same control socket.
TEST(ConfigText, SshReadsItForTenThousandHostsAndSharesMustersConnection) {
  std::vector<Entry> entries;
  for (int i = 1; i <= 10000; ++i) entries.push_back({"node" + std::to_string(i), "dev"});
  const sys::TempFolder folder;
  const std::string config = folder.path() + "/config";
  ASSERT_TRUE(sys::write_file(config, config_text(entries), 0600).has_value());
  const auto plain = sys::run({.argv = {"ssh", "-F", config, "-G", "node9999"}});
  auto words = remote::ssh_words({});
  words.insert(words.end(), {"-F", config, "-G", "node9999"});
  const auto ours = sys::run({.argv = words});
  ASSERT_TRUE(plain && plain->ok()) << (plain ? plain->err : "");
  const auto line = [](const std::string& text, const std::string& key) {
    const std::size_t at = text.find("\n" + key + " ");
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  EXPECT_EQ(line(plain->out, "stricthostkeychecking"), "stricthostkeychecking true");
  EXPECT_EQ(line(plain->out, "controlpath").substr(line(plain->out, "controlpath").rfind('/')),
            line(ours->out, "controlpath").substr(line(ours->out, "controlpath").rfind('/')));
  EXPECT_NE(line(plain->out, "userknownhostsfile").find("known_hosts.d/"), std::string::npos);
  EXPECT_EQ(line(ours->out, "userknownhostsfile"), line(plain->out, "userknownhostsfile"));
}

}  // namespace
}  // namespace muster::setup
