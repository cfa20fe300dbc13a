#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(Cpu, NamesTheOddHostsAndExtensions) {
  World world = good_world(4);
  world.host(4).cpu.isa = {"avx", "sse4_2"};
  ASSERT_EQ(brief(world), "warning n4 mixed-cpu-isa");
  EXPECT_EQ(judged(world).front().evidence, "lacks avx2, fma; has sse4_2 in addition");
  world.host(4).cpu.isa = {"fma", "avx2", "avx"};  // the order does not matter
  EXPECT_EQ(brief(world), "");
  world.host(4).cpu.isa = {};  // unknown
  EXPECT_EQ(brief(world), "");
}

TEST(Cpu, OfAnotherArchitectureIsAnError) {
  World world = good_world(3);
  world.host(1).cpu.architecture = "aarch64";
  world.host(1).cpu.isa = {"asimd"};
  EXPECT_EQ(brief(world), "error n1 mixed-endian-or-arch");
  for (int number : {1, 2, 3}) world.host(number).cpu.architecture = "";
  EXPECT_EQ(brief(world), "");
}

TEST(Shm, MustHoldEveryRanksPart) {
  World world = good_world(3);
  world.host(2).shm_bytes = world.host(2).shm_free_bytes = 64 * kMiB;  // a container's default
  ASSERT_EQ(brief(world), "warning n2 nccl-dev-shm-full");
  EXPECT_EQ(judged(world).front().evidence,
            "it has 64 MiB; the ranks need more than 64 MiB (1 rank on the host, 64 MiB each)");
  world.host(2).shm_bytes = world.host(2).shm_free_bytes = 65 * kMiB;
  EXPECT_EQ(brief(world), "");
  world.cluster.hosts[1].slots = 2;
  EXPECT_EQ(brief(world), "warning n2 nccl-dev-shm-full");
  world.host(2).shm_bytes = -1;
  EXPECT_EQ(judged(world).front().what, "there is no /dev/shm");
}

TEST(Shm, MayBeFull) {
  World world = good_world(2);
  world.host(1).shm_free_bytes = 3 * kMiB;
  ASSERT_EQ(brief(world), "warning n1 nccl-dev-shm-full");
  EXPECT_TRUE(has(judged(world).front().evidence, "3 MiB of 16 GiB are free"));
}

TEST(Oversubscription, IsSaidAloud) {
  World world = good_world(2);
  world.job.ranks_per_host = 8;  // as many as the host has CPUs
  EXPECT_EQ(brief(world), "");
  world.host(2).cpu.usable = 4;
  ASSERT_EQ(brief(world), "warning n2 omp-threads-oversubscribed");
  EXPECT_EQ(judged(world).front().what, "there are more ranks than CPUs");
  world.host(2).cpu.usable = 8;
  world.job.threads = 2;
  ASSERT_EQ(brief(world), "warning n[1-2] omp-threads-oversubscribed");
  EXPECT_EQ(judged(world).front().what, "the ranks have more threads than there are CPUs");
}

TEST(Nofile, MustSufficeForTheJob) {
  World world = good_world(2);
  for (int number : {1, 2}) world.host(number).cpu.usable = 128;
  for (int number : {1, 2}) world.cluster.hosts[number - 1].slots = 96;
  for (int number : {1, 2}) world.host(number).limits.nofile = {1024, 1048576};
  EXPECT_EQ(brief(world), "");  // 4 * 192 + 256 is exactly 1024
  world.cluster.hosts[1].slots = 97;
  ASSERT_EQ(brief(world), "warning n[1-2] nofile-limit");
  EXPECT_EQ(judged(world).front().what,
            "a process may open 1024 files, but in a job of 193 ranks each rank needs 1028");
  EXPECT_EQ(judged(world).front().fix,
            "start your program from a script that runs 'ulimit -n 4096' first, or raise the limit "
            "permanently:\n"
            "  muster exec -H 'n[1-2]' -- 'echo '\\''* - nofile 65536'\\'' | sudo tee "
            "/etc/security/limits.d/muster-nofile.conf'\n"
            "the new limit applies to new logins; muster's open connection to a host keeps the old "
            "limit until you close it, with one command per host:\n"
            "  ssh -o ControlPath=~/.ssh/muster/cm/%C -O stop HOST");
  world.host(2).limits.nofile = {1024, 1024};
  EXPECT_EQ(brief(world), "error n2 nofile-limit; warning n1 nofile-limit");
  world.host(2).limits.nofile = {-1, -1};
  world.host(1).limits.nofile = {};  // unknown
  EXPECT_EQ(brief(world), "");
}

TEST(Memlock, MattersWithRdmaOnly) {
  World world = good_world(2);
  world.host(2).limits.memlock = {8 * kMiB, 8 * kMiB};
  EXPECT_EQ(brief(world), "");
  for (int number : {1, 2}) world.host(number).rdma = {layout::roce("mlx5_0", "eth0", number)};
  ASSERT_EQ(brief(world), "error n2 rdma-memlock");
  EXPECT_EQ(judged(world).front().evidence, "ulimit -l is 8 MiB; it should be unlimited");
  world.job.env_values["NCCL_IB_DISABLE"] = "1";
  EXPECT_EQ(brief(world), "warning n2 rdma-memlock");
  world.job.env_values.clear();
  world.host(2).limits.memlock = {1024 * kMiB, -1};
  EXPECT_EQ(brief(world), "warning n2 rdma-memlock");
}

TEST(Memlock, MattersInAPodAlthoughItSeesNoOther) {
  World world = good_world(1);
  world.host(1).rdma = {layout::roce("mlx5_0", "eth0", 1)};
  world.host(1).limits.memlock = {8 * kMiB, 8 * kMiB};
  world.job.pods = 2;
  world.job.engine = "pods";
  std::string found;
  for (const Finding& one : judged(world)) {
    if (one.id == "rdma-memlock") found = one.fix;
  }
  EXPECT_NE(found.find("capability IPC_LOCK"), std::string::npos) << brief(world);
  world.job.pods = 1;  // a single pod uses no RDMA
  EXPECT_EQ(brief(world).find("rdma-memlock"), std::string::npos);
}

TEST(Clock, IsJudgedBeyondDoubt) {
  World world = good_world(3);
  world.surveys[1].clock_ahead_s = 1.4;
  world.surveys[1].clock_doubt_s = 0.5;
  EXPECT_EQ(brief(world), "");
  world.surveys[1].clock_ahead_s = -1.6;
  ASSERT_EQ(brief(world), "warning n2 clock-skew-elastic");
  EXPECT_EQ(judged(world).front().evidence, "1.6 s behind the other hosts, give or take 0.5 s");
  world.surveys[1].clock_ahead_s = 30;
  EXPECT_EQ(brief(world), "error n2 clock-skew-elastic");
}

TEST(Clock, OfTheLauncherMayBeTheWrongOne) {
  World world = good_world(3);
  for (auto& survey : world.surveys) survey.clock_ahead_s = 600;
  EXPECT_EQ(brief(world), "");
  world.surveys[2].clock_ahead_s = 0;
  // Two machines against two: the launcher's clock agrees with one side, and that side counts as
  // right.
  EXPECT_EQ(brief(world), "error n[1-2] clock-skew-elastic");
}

TEST(NotSeen, IsANoteWhereItMatters) {
  World world = good_world(2);
  world.host(1).not_seen = {{"listeners", "no permission"}, {"gpus", "no driver"}};
  world.host(2).not_seen = {{"listeners", "no permission"}};
  ASSERT_EQ(brief(world), "note n1 facts-not-gathered");
  EXPECT_EQ(judged(world).front().what, "not examined: listeners");
  EXPECT_EQ(judged(world).front().evidence, "no permission");
}

}  // namespace
}  // namespace muster::checks
