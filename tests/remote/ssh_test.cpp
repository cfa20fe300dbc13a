#include "remote/ssh.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::remote {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SshWords, NeverSwitchHostKeyCheckingOff) {
  const auto words = ssh_words({.user = "dev", .port = 2222});
  EXPECT_TRUE(has(words, "StrictHostKeyChecking=yes"));
  EXPECT_TRUE(has(words, "BatchMode=yes"));
  EXPECT_FALSE(has(words, "UserKnownHostsFile=/dev/null"));
}

TEST(SshWords, LeaveUserAndPortToTheConfigurationUnlessGiven) {
  EXPECT_FALSE(has(ssh_words({}), "-l"));
  EXPECT_FALSE(has(ssh_words({}), "-p"));
  const auto words = ssh_words({.user = "dev", .port = 2222});
  EXPECT_EQ(*(std::find(words.begin(), words.end(), "-l") + 1), "dev");
  EXPECT_EQ(*(std::find(words.begin(), words.end(), "-p") + 1), "2222");
}

}  // namespace
}  // namespace muster::remote
