#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

using Files = std::map<std::string, std::string>;

const Files kFiles = {{"train.py", "t1"}, {"model.py", "m1"}};

facts::Script copy_of(const Files& files) {
  return {.name = "train.py", .path = "/opt/job/train.py", .files = files};
}

// Every host and the launcher have the script and a module beside it.
World good_world_with_script(int hosts) {
  World world = good_world_with_program(hosts);
  world.job.program = {"python3", "train.py"};
  for (int number = 1; number <= hosts; ++number) {
    world.host(number).program->libmpi.reset();
    world.host(number).program->libmpi_kind.clear();
    world.host(number).script = copy_of(kFiles);
  }
  world.launcher.script = copy_of(kFiles);
  return world;
}

TEST(Script, IsTheSameEverywhere) {
  EXPECT_EQ(brief(good_world_with_script(3)), "");
}

TEST(Script, IsMissing) {
  World world = good_world_with_script(3);
  for (int number : {2, 3}) world.host(number).script = facts::Script{.name = "train.py"};
  ASSERT_EQ(brief(world), "error n[2-3] remote-exe-not-found");
  EXPECT_EQ(judged(world).front().what, "the script train.py does not exist on the host");
  EXPECT_TRUE(has(judged(world).front().fix, "\n  muster sync -H 'n[2-3]' ."));
  EXPECT_TRUE(has(judged(world).front().fix, "add --sync to your command"));
  World in_slurm = world;
  in_slurm.job.engine = "slurm";
  EXPECT_TRUE(has(judged(in_slurm).front().fix, "start muster in a directory that all hosts"));
  world.job.program[1] = "/data/my job/train.py";
  EXPECT_TRUE(has(judged(world).front().fix, "\n  muster sync -H 'n[2-3]' '/data/my job'"));
  world.job.program[1] = "train.py";
  world.job.folder = "/home/alice";
  EXPECT_TRUE(has(judged(world).front().fix, "move it into a directory of its own"));
}

TEST(Script, WasNotSentBecauseAnIgnoreFileExcludesIt) {
  World world = good_world_with_script(2);
  world.job.synced = true;
  world.job.folder = "/opt/job";
  for (int number : {1, 2}) world.host(number).script = facts::Script{.name = "train.py"};
  ASSERT_EQ(brief(world), "error n[1-2] remote-exe-not-found");
  EXPECT_EQ(judged(world).front().fix,
            "--sync left it out because of a line in .gitignore or .musterignore; change that "
            "line, or override it in .musterignore:\n  !train.py");
  world.job.program[1] = "src/train.py";  // a line for the file cannot help if src is excluded
  EXPECT_TRUE(judged(world).front().fix.ends_with("override it in .musterignore"));
  world.job.program[1] = "/elsewhere/train.py";
  EXPECT_TRUE(has(judged(world).front().fix, "muster sync -H 'n[1-2]' /elsewhere"));
  world.job.program[1] = "train.py";
  world.launcher.script = facts::Script{.name = "train.py"};
  EXPECT_TRUE(has(judged(world).front().fix, "correct its name"));
}

TEST(Script, IsMissingHereAndThere) {
  World world = good_world_with_script(2);
  for (int number : {1, 2}) world.host(number).script = facts::Script{.name = "train.py"};
  world.launcher.script = facts::Script{.name = "train.py"};
  ASSERT_EQ(brief(world), "error n[1-2] remote-exe-not-found");
  EXPECT_EQ(judged(world).front().fix,
            "correct its name or path; this machine does not have it either");
  world.host(1).script = copy_of(kFiles);
  EXPECT_TRUE(has(judged(world).front().fix, "copy the directory to these hosts"));
}

TEST(Script, ThatStartsByItselfIsMissingOnce) {
  World world = good_world_with_script(3);
  world.job.program = {"./train.py"};
  world.host(2).script = facts::Script{.name = "./train.py"};
  world.host(2).program = facts::Program{.name = "./train.py"};
  EXPECT_EQ(brief(world), "error n2 remote-exe-not-found");
  world = good_world_with_script(3);
  world.job.program = {"./train.py"};
  world.host(2).script->files["train.py"] = "t2";
  world.host(2).program->identity.hash = "t2";
  EXPECT_EQ(brief(world), "warning n2 program-differs-between-hosts");
}

TEST(Script, CannotBeRead) {
  World world = good_world_with_script(3);
  world.host(2).script->files = {{"train.py", ""}};
  ASSERT_EQ(brief(world), "error n2 remote-exe-not-found");
  EXPECT_EQ(judged(world).front().fix, "  muster exec -H n2 -- 'chmod u+r /opt/job/train.py'");
}

TEST(Script, IsStale) {
  World world = good_world_with_script(3);
  for (int number : {1, 3}) world.host(number).script->files["train.py"] = "old";
  ASSERT_EQ(brief(world), "warning n[1,3] program-differs-between-hosts");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.what,
            "train.py, or a module that it imports, differs from this machine's copy");
  EXPECT_EQ(finding.evidence, "train.py");
  EXPECT_TRUE(has(finding.fix, "\n  muster sync -H 'n[1,3]' ."));
}

TEST(Script, HasAModuleThatIsStaleOrMissing) {
  World world = good_world_with_script(3);
  world.host(1).script->files["model.py"] = "old";
  world.host(2).script->files.erase("model.py");
  ASSERT_EQ(brief(world),
            "warning n1 program-differs-between-hosts; warning n2 program-differs-between-hosts");
  EXPECT_EQ(judged(world)[0].evidence, "model.py");
  EXPECT_EQ(judged(world)[1].evidence, "model.py (missing)");
  world.host(1).script->files["model.py"] = "";  // unreadable, so nothing is known
  world.host(2).script->complete = false;        // the differing file may be one that was not read
  EXPECT_EQ(brief(world), "");
}

TEST(Script, MayHaveMoreModulesThere) {
  World world = good_world_with_script(2);
  world.host(2).script->files["generated.py"] = "g1";
  EXPECT_EQ(brief(world), "");
}

TEST(Script, ThatIsNotHereIsComparedBetweenHosts) {
  World world = good_world_with_script(3);
  world.launcher.script = facts::Script{.name = "train.py"};
  EXPECT_EQ(brief(world), "");
  world.host(3).script->files = {{"train.py", "old"}, {"evil\n\x1b.py", "e"}};
  ASSERT_EQ(brief(world), "warning n3 program-differs-between-hosts");
  EXPECT_EQ(judged(world).front().what, "the copy of train.py differs from the one on most hosts");
  EXPECT_EQ(judged(world).front().evidence,
            "model.py (missing), train.py, evil??.py (only on this host)");
}

TEST(Script, OfAModuleMayBeInstalled) {
  World world = good_world_with_script(3);
  world.job.program = {"python3", "-m", "package.train"};
  for (int number : {1, 2, 3}) world.host(number).script = facts::Script{.name = "package.train"};
  world.launcher.script = facts::Script{.name = "package.train"};
  EXPECT_EQ(brief(world), "");
  for (facts::Facts* host : {&world.launcher, &world.host(1), &world.host(3)}) {
    host->script = facts::Script{
        .name = "package.train", .path = "/opt/job", .files = {{"package/train.py", "t1"}}};
  }
  ASSERT_EQ(brief(world), "warning n2 program-differs-between-hosts");
  EXPECT_EQ(judged(world).front().evidence, "package/train.py (missing)");
  EXPECT_TRUE(has(judged(world).front().fix, "\n  muster sync -H n2 ."));
}

}  // namespace
}  // namespace muster::checks
