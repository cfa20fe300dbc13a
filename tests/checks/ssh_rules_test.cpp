#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

Error unreachable(std::string what, std::string said) {
  return {.code = ErrorCode::kUnreachable,
          .what = std::move(what),
          .hint = "a hint",
          .cause = std::make_shared<const Error>(Error{.what = std::move(said)})};
}

TEST(Unreachable, SaysHowToPinAnUnknownKey) {
  World world = good_world(4);
  for (int number : {2, 3}) {
    world.lose(number, "ssh-host-key-unknown",
               unreachable("its host key is not known on this machine",
                           fmt::format("ssh said n{}", number)));
  }
  ASSERT_EQ(brief(world), "error n[2-3] ssh-host-key-unknown");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.what, "its host key is not known on this machine");
  EXPECT_EQ(finding.evidence, "ssh said n2");
  EXPECT_EQ(finding.fix, "  muster setup -H 'n[2-3]'");
}

TEST(Unreachable, IsToldOnceOfHostsThatAreSilent) {
  World world = good_world(3);
  for (int number : {2, 3}) {
    Error silent{.what = "no answer within 3 s", .hint = fmt::format("ssh n{} true", number)};
    world.lose(number, "ssh-connect-refused-or-timeout", std::move(silent));
  }
  ASSERT_EQ(brief(world), "error n[2-3] ssh-connect-refused-or-timeout");
  EXPECT_EQ(judged(world).front().fix, "ssh n2 true");
}

TEST(Unreachable, KeepsReasonsApart) {
  World world = good_world(4);
  world.lose(1, "ssh-connect-refused-or-timeout", unreachable("down", ""));
  world.lose(2, "ssh-host-key-changed", unreachable("its host key is not the pinned one", ""));
  world.lose(3, "ssh-publickey-denied", unreachable("it refused our key", ""));
  world.lose(4, "", {.what = "no folder there allows execution"});
  EXPECT_EQ(brief(world),
            "error n1 ssh-connect-refused-or-timeout; error n2 ssh-host-key-changed; "
            "error n3 ssh-publickey-denied; error n4 facts-not-gathered");
  const auto findings = judged(world);
  EXPECT_EQ(findings[0].fix, "a hint");
  EXPECT_TRUE(has(findings[1].fix, "\n  muster setup --forget n2")) << findings[1].fix;
  EXPECT_EQ(findings[2].fix, "  muster setup -H n3");
}

TEST(Unreachable, LeavesOutHostsThatTakeNoPart) {
  World world = good_world(3);
  world.lose(3, "ssh-publickey-denied", unreachable("it refused our key", ""));
  world.job.nodes = 2;
  EXPECT_EQ(brief(world), "");
}

TEST(SshModes, NamesTheFileAndTheCommand) {
  World world = good_world(3);
  for (int number : {1, 3}) {
    world.host(number).ssh_files = {
        {.path = "/home/alice/.ssh/authorized_keys", .mode = 0664, .uid = 1000, .problem = "bad"}};
  }
  ASSERT_EQ(brief(world), "warning n[1,3] ssh-strictmodes-perms");
  EXPECT_EQ(judged(world).front().fix,
            "  muster exec -H 'n[1,3]' -- 'chmod 600 /home/alice/.ssh/authorized_keys'");
}

TEST(SshModes, SaysNothingWhereNobodyLogsIn) {
  World world = good_world(2);
  world.launcher.ssh_files = world.host(1).ssh_files = {
      {.path = "/home/alice/.ssh", .mode = 0777, .uid = 1000, .problem = "bad"}};
  world.cluster.hosts[0].here = true;
  // The finding is about the launcher's own files, which it needs to reach n2.
  EXPECT_EQ(brief(world), "warning all ssh-strictmodes-perms");
  world.job.nodes = 1;
  EXPECT_EQ(brief(world), "");
}

TEST(SshModes, TellsTheClientsFilesAndStrangeOwnersApart) {
  World world = good_world(2);
  world.host(2).ssh_files = {
      {.path = "/home/alice/.ssh/id_ed25519", .mode = 0644, .uid = 1000, .problem = "bad"},
      {.path = "/home/alice", .mode = 0755, .uid = 7, .problem = "bad"},
      {.path = "/home/al ice", .mode = 0775, .uid = 1000, .problem = "bad"}};
  world.launcher.ssh_files = {
      {.path = "/home/alice/.ssh/config", .mode = 0666, .uid = 1000, .problem = "bad"}};
  EXPECT_EQ(brief(world),
            "warning n2 ssh-private-key-perms; warning n2 ssh-strictmodes-perms; "
            "warning n2 ssh-strictmodes-perms; warning all ssh-private-key-perms");
  const auto findings = judged(world);
  EXPECT_TRUE(has(findings[1].fix, "sudo chown alice /home/alice"));
  EXPECT_TRUE(has(findings[2].fix, "chmod go-w"));
  EXPECT_EQ(findings[3].fix, "  chmod 600 /home/alice/.ssh/config");
}

}  // namespace
}  // namespace muster::checks
