#include "remote/ssh.hpp"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "sys/file.hpp"

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

TEST(SshWords, KeepASilentConnectionForAsLongAsTheJobNeedsIt) {
  EXPECT_TRUE(has(ssh_words({}), "ServerAliveInterval=15"));
  EXPECT_TRUE(has(ssh_words({}), "ServerAliveCountMax=4"));
  EXPECT_TRUE(has(ssh_words({.patience = std::chrono::seconds(181)}), "ServerAliveCountMax=13"));
}

TEST(SshWords, LeaveNoWayFromTheHostBackToThisMachine) {
  const auto words = ssh_words({});
  for (const char* setting : {"ForwardAgent=no", "ForwardX11=no", "Tunnel=no",
                              "ClearAllForwardings=yes", "PermitLocalCommand=no"}) {
    EXPECT_TRUE(has(words, setting)) << setting;
  }
}

const SshOptions with_this_machine = {.this_machine = "here"};

TEST(Ssh, RunsCommandsOfThisMachineWithoutSsh) {
  const std::vector<Task> tasks = {{.host = "here", .command = "pwd; exit 255"}};
  const auto outcomes = Ssh(with_this_machine).run(tasks, std::chrono::seconds(20));
  ASSERT_TRUE(outcomes[0].ended);
  EXPECT_EQ(outcomes[0].ended->out, sys::home_folder() + "\n");
  EXPECT_EQ(outcomes[0].ended->code, 255);  // the command's own code, since no ssh is involved
}

TEST(Ssh, OpensASessionOnThisMachineWithoutSsh) {
  sys::UvLoop loop;
  std::string said;
  Ssh ssh(with_this_machine);
  const auto session = ssh.open(loop, {.host = "here",
                                       .command = "read line; echo got $line",
                                       .on_output = [&](std::string_view chunk) { said += chunk; },
                                       .on_end = {}});
  session->write("word\n");
  loop.run();
  EXPECT_EQ(said, "got word\n");
}

TEST(ControlFolder, LeavesRoomForASocketsName) {
  const std::string home = sys::home_folder();
  ASSERT_EQ(::setenv("HOME", "/home/dev", 1), 0);
  EXPECT_EQ(control_folder(), "/home/dev/.ssh/muster/cm");
  ASSERT_EQ(::setenv("HOME", "/srv/institute/department/home/users/dev", 1), 0);
  EXPECT_EQ(control_folder().rfind("/tmp/muster-ssh-", 0), 0U);
  ASSERT_EQ(::setenv("HOME", home.c_str(), 1), 0);
}

}  // namespace
}  // namespace muster::remote
