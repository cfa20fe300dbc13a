#include "setup/bundle.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

BundleKeys keys() {
  return {.cluster = "ssh-ed25519 CLUSTER muster", .host = "ssh-ed25519 HOST muster"};
}

BundleOptions three_hosts() {
  return {.hosts = {"launcher", "worker1", "worker2"}};
}

BundleFile file_of(const BundleOptions& options, const std::string& path) {
  const auto files = bundle_files(options, keys());
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const BundleFile& file) { return file.path == path; });
  return found == files.end() ? BundleFile{} : *found;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Bundle, EveryHostIsPinnedByNameAndPort) {
  const std::string known = file_of(three_hosts(), "launcher/known_hosts").content;
  for (const char* host : {"launcher", "worker1", "worker2"}) {
    EXPECT_TRUE(has_line(known, std::string("[") + host + "]:12345 ssh-ed25519 HOST muster"));
  }
  BundleOptions root = three_hosts();
  root.port = 22;
  EXPECT_TRUE(
      has_line(file_of(root, "launcher/known_hosts").content, "worker1 ssh-ed25519 HOST muster"))
      << "ssh looks a host on port 22 up by its bare name";
}

TEST(Bundle, CheckingIsNeverSwitchedOff) {
  for (const BundleFile& file : bundle_files(three_hosts(), keys())) {
    EXPECT_EQ(file.content.find("StrictHostKeyChecking no"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("/dev/null"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("rsa"), std::string::npos) << file.path;
  }
  EXPECT_TRUE(
      has_line(file_of(three_hosts(), "launcher/config").content, "    StrictHostKeyChecking yes"));
}

TEST(Bundle, SshdGetsPathsThatItNeedNotExpandAndWorksWithoutRoot) {
  BundleOptions options = three_hosts();
  options.home = "/home/me";
  const std::string config = file_of(options, "worker/sshd_config").content;
  EXPECT_TRUE(has_line(config, "HostKey /home/me/.ssh/ssh_host_ed25519_key"));
  EXPECT_TRUE(has_line(config, "AuthorizedKeysFile /home/me/.ssh/authorized_keys"));
  EXPECT_TRUE(has_line(config, "Port 12345"));
  EXPECT_TRUE(has_line(config, "UsePAM no"));
  EXPECT_TRUE(has_line(config, "StrictModes yes"));
  EXPECT_TRUE(has_line(config, "PasswordAuthentication no"));
  EXPECT_EQ(config.find('~'), std::string::npos);
  EXPECT_TRUE(has_line(file_of(options, "launcher/config").content, "    User me"));
}

TEST(Bundle, NobodyElseReadsWhatSshGuards) {
  for (const char* path : {"launcher/config", "launcher/known_hosts", "worker/authorized_keys",
                           "worker/sshd_config"}) {
    EXPECT_EQ(file_of(three_hosts(), path).mode, 0600U) << path;
  }
  EXPECT_EQ(file_of(three_hosts(), "run-worker.sh").mode, 0755U);
}

TEST(Bundle, RefusesWhatCannotWork) {
  EXPECT_TRUE(check(three_hosts()).has_value());
  const auto refused = [](auto change) {
    BundleOptions options = three_hosts();
    change(options);
    const auto checked = check(options);
    return !checked && checked.error().code == ErrorCode::kUsage;
  };
  EXPECT_TRUE(refused([](auto& o) { o.hosts = {"alone"}; }));
  EXPECT_TRUE(refused([](auto& o) { o.hosts.emplace_back("-oProxyCommand=x"); }));
  EXPECT_TRUE(refused([](auto& o) { o.hosts.emplace_back("a\nHost *"); }));
  EXPECT_TRUE(refused([](auto& o) { o.home = "~/x"; }));
  EXPECT_TRUE(refused([](auto& o) { o.home = "/home/a b"; }));
  EXPECT_TRUE(refused([](auto& o) { o.home = "/"; }));
  EXPECT_TRUE(refused([](auto& o) { o.user = "a\nPort 1"; }));
  EXPECT_TRUE(refused([](auto& o) { o.port = 70000; }));
  EXPECT_TRUE(refused([](auto& o) { o.port = 80; })) << "an ordinary user may not listen there";
}

TEST(Owner, IsTwoNumbers) {
  EXPECT_EQ(*parse_owner("1000:100"), (Owner{1000, 100}));
  for (const char* text : {"", "1000", "dev:dev", "1000:", ":1", "1:2:3", "-1:0", "1 :2"}) {
    EXPECT_FALSE(parse_owner(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace muster::setup
