#include "setup/bundle.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

BundleKeys keys() {
  return {.cluster = "ssh-ed25519 CLUSTER muster",
          .hosts = {"ssh-ed25519 ONE muster", "ssh-ed25519 TWO muster"}};
}

BundleOptions three_hosts() {
  return {.hosts = {"launcher", "worker1", "worker2"}};
}

BundleFile file_of(const BundleOptions& options, const std::string& path) {
  const auto files = bundle_files(options, keys(), "/srv/my bundle");
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const BundleFile& file) { return file.path == path; });
  return found == files.end() ? BundleFile{} : *found;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Bundle, EveryWorkerIsPinnedWithItsOwnKeyByNameAndPort) {
  EXPECT_EQ(file_of(three_hosts(), "launcher/known_hosts").content,
            "[worker1]:12345 ssh-ed25519 ONE muster\n[worker2]:12345 ssh-ed25519 TWO muster\n");
  EXPECT_EQ(file_of(three_hosts(), "workers/worker2/ssh_host_ed25519_key.pub").content,
            "ssh-ed25519 TWO muster\n");
  BundleOptions root = three_hosts();
  root.port = 22;
  root.owner = {0, 0};
  EXPECT_TRUE(
      has_line(file_of(root, "launcher/known_hosts").content, "worker1 ssh-ed25519 ONE muster"))
      << "ssh looks a host on port 22 up by its bare name";
}

TEST(Bundle, ANetworkOfItsOwnGivesEachContainerAnAddress) {
  EXPECT_TRUE(addresses(three_hosts()).empty());
  BundleOptions own = three_hosts();
  own.network = "muster";
  own.subnet = "198.18.50.0/24";
  ASSERT_TRUE(check(own).has_value());
  EXPECT_EQ(addresses(own),
            (std::vector<std::string>{"198.18.50.2", "198.18.50.3", "198.18.50.4"}));
  const std::string config = file_of(own, "launcher/config").content;
  EXPECT_TRUE(has_line(config, "    HostName 198.18.50.4")) << config;
  EXPECT_TRUE(has_line(config, "    HostKeyAlias [worker2]:12345")) << config;
  EXPECT_TRUE(has_line(config, "# muster bundle: owner 1000:1000")) << config;
  // A /29 has five addresses besides those of the network and the gateway, and broadcast.
  own.subnet = "198.18.255.248/29";
  EXPECT_EQ(addresses(own).back(), "198.18.255.252");
}

TEST(Bundle, FromTheHostSshFindsKeyAndPinsInTheBundle) {
  const std::string config = file_of(three_hosts(), "ssh_config").content;
  EXPECT_TRUE(has_line(config, "    IdentityFile \"/srv/my bundle/launcher/id_ed25519\""))
      << config;
  EXPECT_TRUE(has_line(config, "    HostName worker1")) << config;
}

TEST(Bundle, TheImageGetsNoKeys) {
  EXPECT_EQ(file_of(three_hosts(), ".dockerignore").content, "*\n!muster-*\n");
  const std::string image = file_of(three_hosts(), "Containerfile").content;
  EXPECT_TRUE(has_line(image, "COPY muster-* /usr/local/libexec/muster/")) << image;
  EXPECT_TRUE(has_line(image, "USER 1000:1000")) << image;
  const std::size_t path = image.find("ENV PATH=");
  ASSERT_NE(path, std::string::npos) << image;
  EXPECT_LT(image.find(":/usr/sbin:", path), image.find('\n', path)) << "groupadd is there";
}

TEST(Bundle, CheckingIsNeverSwitchedOff) {
  for (const BundleFile& file : bundle_files(three_hosts(), keys(), "/srv/b")) {
    EXPECT_EQ(file.content.find("StrictHostKeyChecking no"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("KnownHostsFile /dev/null"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("id_rsa"), std::string::npos) << file.path;
  }
  EXPECT_TRUE(
      has_line(file_of(three_hosts(), "launcher/config").content, "    StrictHostKeyChecking yes"));
}

TEST(Bundle, SshdGetsPathsThatItNeedNotExpandAndWorksWithoutRoot) {
  BundleOptions options = three_hosts();
  options.home = "/home/me";
  const std::string config = file_of(options, "workers/worker1/sshd_config").content;
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
  for (const char* path : {"launcher/config", "launcher/known_hosts",
                           "workers/worker1/authorized_keys", "workers/worker2/sshd_config"}) {
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
  EXPECT_TRUE(refused([](auto& o) { o.hosts.emplace_back("../launcher"); }));
  EXPECT_TRUE(refused([](auto& o) { o.hosts.emplace_back("worker1"); })) << "named twice";
  EXPECT_TRUE(refused([](auto& o) { o.network = "own"; })) << "no subnet";
  EXPECT_TRUE(refused([](auto& o) { o.subnet = "198.18.50.0/24"; })) << "of which network?";
  for (const char* subnet : {"198.18.50.0", "198.18.50.1/24", "198.18.50.0/33", "fd00::/64",
                             "198.18.50.0/24 --privileged", "198.18.50.0/30"}) {
    EXPECT_TRUE(refused([&](auto& o) { o.network = "own", o.subnet = subnet; })) << subnet;
  }
  EXPECT_TRUE(refused([](auto& o) { o.network = "a b", o.subnet = "198.18.50.0/24"; }));
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
