#include "facts/ssh_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

bool refused(SshFile file, int mode, int owner) {
  return !ssh_problem(file, mode, owner, 1000).empty();
}

TEST(SshProblem, what_sshd_trusts_belongs_to_the_user_or_root_and_only_they_write) {
  for (const SshFile file : {SshFile::kTrusted, SshFile::kConfig}) {
    EXPECT_FALSE(refused(file, 0755, 1000));
    EXPECT_FALSE(refused(file, 0644, 0));
    EXPECT_TRUE(refused(file, 0644, 7));
    EXPECT_TRUE(refused(file, 0775, 1000));
    EXPECT_TRUE(refused(file, 0666, 1000));
  }
}

TEST(SshProblem, a_private_key_is_read_by_the_user_alone) {
  EXPECT_FALSE(refused(SshFile::kKey, 0600, 1000));
  EXPECT_FALSE(refused(SshFile::kKey, 0400, 1000));
  EXPECT_TRUE(refused(SshFile::kKey, 0644, 1000));
  EXPECT_TRUE(refused(SshFile::kKey, 0640, 1000));
}

TEST(SshProblem, says_why) {
  EXPECT_EQ(ssh_problem(SshFile::kTrusted, 0777, 1000, 1000),
            "sshd refuses the user's keys: its group and others may write to it (mode 0777)");
  EXPECT_EQ(ssh_problem(SshFile::kConfig, 0600, 7, 1000),
            "ssh refuses to start: it belongs to uid 7, not to uid 1000");
  EXPECT_EQ(ssh_problem(SshFile::kKey, 0604, 1000, 1000),
            "ssh ignores this key, because others can read it (mode 0604)");
}

TEST(SshProblem, a_group_that_is_trusted_may_write) {
  EXPECT_EQ(ssh_problem(SshFile::kTrusted, 0775, 1000, 1000, true), "");
  EXPECT_NE(ssh_problem(SshFile::kTrusted, 0777, 1000, 1000, true), "");
  EXPECT_NE(ssh_problem(SshFile::kKey, 0640, 1000, 1000, true), "");
}

TEST(PrivateGroup, holds_the_user_alone) {
  const Users users =
      parse_passwd("ada:x:1000:1000::/h:\nbob:x:1001:1001::/h:\neve:x:1002:1001::/h:\n");
  const auto is_private = [&users](unsigned gid, const char* groups) {
    return is_private_group(gid, 1000, users, groups);
  };
  EXPECT_TRUE(is_private(1000, "ada:x:1000:\n"));
  EXPECT_TRUE(is_private(1000, "ada:x:1000:ada\n"));
  EXPECT_TRUE(is_private(7, "own:x:7:ada\n"));
  EXPECT_FALSE(is_private(1000, "ada:x:1000:ada,bob\n"));
  EXPECT_FALSE(is_private(1000, "ada:x:1000:bob\n"));
  EXPECT_FALSE(is_private(1001, "bob:x:1001:\n"));  // bob's group
  EXPECT_FALSE(is_private(7, "empty:x:7:\n"));
  EXPECT_FALSE(is_private(1000, "other:x:5:\n"));  // no group has the number 1000
}

TEST(PrivateGroup, is_trusted_on_debian_and_its_kin) {
  EXPECT_TRUE(trusts_private_groups("NAME=x\nID=debian\n"));
  EXPECT_TRUE(trusts_private_groups("ID=ubuntu\nID_LIKE=debian\n"));
  EXPECT_FALSE(trusts_private_groups("ID=\"rhel\"\nHOME_URL=\"debian\"\n"));
}

TEST(SshFiles, those_that_are_there) {
  FakeTree home;
  home.write(".ssh/authorized_keys", "", 0600);
  home.write(".ssh/id_ed25519", "", 0644);
  home.write(".ssh/id_ed25519.pub", "", 0644);
  home.write(".ssh/known_hosts", "", 0644);
  const auto files = read_ssh_files(home.root(), static_cast<int>(::geteuid()), {});
  ASSERT_EQ(files.size(), 4U);  // home, .ssh, authorized_keys, the key
  EXPECT_EQ(files[3].path, home.root() + "/.ssh/id_ed25519");
  EXPECT_EQ(files[3].mode, 0644);
  EXPECT_NE(files[3].problem, "");
  EXPECT_EQ(files[2].problem, "");
}

}  // namespace
}  // namespace muster::facts
