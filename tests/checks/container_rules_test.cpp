#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

constexpr std::int64_t kDefaultShm = std::int64_t{64} << 20;

// All hosts are containers on a bridge, either on one machine or each on its own.
World container_world(int hosts, bool one_machine) {
  World world = good_world(hosts);
  for (int number = 1; number <= hosts; ++number) {
    facts::Facts& host = world.host(number);
    host.container.engine = "podman";
    host.container.machine = one_machine ? "m" : fmt::format("m{}", number);
    host.interfaces[1].made = "veth";
  }
  return world;
}

std::string brief_with(const World& world, const std::vector<facts::Trial>& trials) {
  const layout::Layout layout = world.layout();
  std::string text;
  for (const Finding& finding :
       judge({world.job, world.cluster, world.surveys, world.launcher, layout, trials})) {
    text += fmt::format("{} {}; ", finding.severity == Severity::kError ? "error" : "warning",
                        finding.id);
  }
  return text;
}

TEST(Containers, OnBridgesOfSeveralMachinesCannotReachEachOther) {
  EXPECT_EQ(brief(container_world(3, true)), "");
  World world = container_world(2, false);
  ASSERT_EQ(
      brief(world),
      "warning n1 nat-or-bridge-container-network; warning n2 nat-or-bridge-container-network");
  EXPECT_TRUE(has(judged(world).front().fix, "\n  NETWORK=host ./run-worker.sh"));
  using facts::Reached;
  EXPECT_EQ(brief_with(world, {{0, 1, 4000, Reached::kYes}, {1, 0, 4000, Reached::kYes}}), "")
      << "an overlay or routed network";
  EXPECT_TRUE(has(brief_with(world, {{0, 1, 4000, Reached::kNoRoute}, {1, 0, 4000, Reached::kYes}}),
                  "error nat-or-bridge-container-network; "));
  world.host(1).interfaces[1].made = world.host(2).interfaces[1].made = "macvlan";
  EXPECT_EQ(brief(world), "");
}

TEST(Containers, GetTheirLimitsFromTheirEngine) {
  World world = container_world(2, true);
  world.host(2).shm_bytes = world.host(2).shm_free_bytes = kDefaultShm;
  ASSERT_EQ(brief(world), "warning n2 nccl-dev-shm-full");
  const std::string shm = judged(world).front().fix;
  EXPECT_TRUE(has(shm, "podman run --shm-size=1g")) << shm;
  EXPECT_TRUE(has(shm, "\n  SHM_SIZE=1g ./run-worker.sh")) << shm;
  EXPECT_FALSE(has(shm, "remount")) << shm;
  world = container_world(2, true);
  world.host(1).limits.nofile = {200, 200};
  world.host(1).container.engine = "containerd";
  ASSERT_EQ(brief(world), "error n1 nofile-limit");
  const std::string nofile = judged(world).front().fix;
  EXPECT_TRUE(has(nofile, "nerdctl run --ulimit nofile=65536:65536")) << nofile;
  EXPECT_TRUE(has(nofile, "\n  CONTAINER_FLAGS='--ulimit nofile=65536:65536' ./run-worker.sh"))
      << nofile;
  EXPECT_FALSE(has(nofile, "limits.d")) << nofile;
}

// Two containers on a machine with RDMA.
World rdma_world() {
  World world = container_world(2, true);
  for (int number : {1, 2}) {
    world.host(number).rdma = {layout::roce("mlx5_0", "eth0", number)};
    world.host(number).container.opens_rdma = true;
  }
  return world;
}

TEST(Containers, NeedTheDevicesOfTheirMachineForRdma) {
  World world = rdma_world();
  ASSERT_EQ(brief(world), "");
  world.host(2).container.opens_rdma = false;
  world.host(2).limits.memlock = {8 << 20, 8 << 20};
  ASSERT_EQ(brief(world), "warning n2 ib-device-not-found-silent-tcp");
  const Finding finding = judged(world).front();
  EXPECT_TRUE(has(finding.evidence, "cannot open any /dev/infiniband/uverbs*")) << finding.evidence;
  EXPECT_TRUE(has(finding.fix,
                  "podman run --device=/dev/infiniband --ulimit memlock=-1:-1 --cap-add=IPC_LOCK"))
      << finding.fix;
  EXPECT_TRUE(has(finding.fix, "\n  DEVICES=all ./run-worker.sh")) << finding.fix;
  world.host(2).container.engine = "kubernetes";
  EXPECT_TRUE(has(judged(world).front().fix, "muster emit k8s --rdma"));
  for (facts::RdmaPort& port : world.host(2).rdma) port.active = false;
  for (const Finding& other : judged(world)) {
    EXPECT_FALSE(has(other.evidence, "uverbs")) << "no port would be used anyway";
  }
}

TEST(Containers, LockMemoryOnlyIfTheirEngineLetsThem) {
  World world = rdma_world();
  world.host(1).container.lacks = {"IPC_LOCK"};
  EXPECT_EQ(brief(world), "") << "no limit: the capability is not needed";
  world.host(1).limits.memlock = {8 << 20, 8 << 20};
  ASSERT_EQ(brief(world), "error n1 rdma-memlock");
  const Finding finding = judged(world).front();
  EXPECT_TRUE(has(finding.evidence, "lacks the capability IPC_LOCK")) << finding.evidence;
  EXPECT_TRUE(has(finding.fix, "podman run --ulimit memlock=-1:-1 --cap-add=IPC_LOCK;"))
      << finding.fix;
  EXPECT_TRUE(
      has(finding.fix,
          "\n  CONTAINER_FLAGS='--ulimit memlock=-1:-1 --cap-add=IPC_LOCK' ./run-worker.sh"))
      << finding.fix;
}

TEST(Containers, MayForbidRanksToReadEachOthersMemory) {
  World world = container_world(2, true);
  world.host(2).container.reads_memory = false;
  world.host(2).container.lacks = {"SYS_PTRACE"};
  EXPECT_EQ(brief(world), "") << "one rank per host";
  world.cluster.hosts[0].slots = world.cluster.hosts[1].slots = 2;
  ASSERT_EQ(brief(world), "warning n2 ompi-cma-ptrace");
  EXPECT_TRUE(has(judged(world).front().evidence, "the container lacks SYS_PTRACE"));
}

TEST(Containers, OfABundleAreMendedOnTheirMachine) {
  World world = good_world(3);
  world.launcher.container.bundle_owner = "1000:1000";
  world.lose(2, "ssh-publickey-denied", {.what = "the host refused the key"});
  world.lose(3, "ssh-connect-refused-or-timeout", {.what = "nothing listens on its ssh port"});
  const auto findings = judged(world);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(has(findings[0].fix, "\n  sudo chown -R 1000:1000 workers/n2\n")) << findings[0].fix;
  EXPECT_TRUE(has(findings[0].fix, "\n  sudo chmod 600 workers/n2/authorized_keys"));
  EXPECT_TRUE(has(findings[1].fix, "Port in workers/n3/sshd_config")) << findings[1].fix;
  EXPECT_FALSE(has(findings[1].fix, "podman")) << "no engine is known: " << findings[1].fix;
  for (const auto& [engine, command] : {std::pair{"docker", "docker"}, {"containerd", "nerdctl"}}) {
    world.launcher.container.engine = engine;
    EXPECT_TRUE(has(judged(world)[1].fix, fmt::format("\n  {} logs n3", command)));
  }
}

TEST(Containers, FilesOfAnotherOwnerAreMendedOnTheMachine) {
  World world = container_world(2, true);
  world.host(1).ssh_files = {{.path = "/home/alice/.ssh/authorized_keys",
                              .mode = 0600,
                              .uid = 4711,
                              .problem = "it belongs to somebody else"}};
  ASSERT_EQ(brief(world), "warning n1 ssh-strictmodes-perms");
  EXPECT_TRUE(has(judged(world).front().fix,
                  "make user 1000 the owner of the directory that is mounted as ~/.ssh"));
  world.launcher.container.bundle_owner = "1000:1000";
  EXPECT_TRUE(has(judged(world).front().fix,
                  "in the bundle's directory:\n  sudo chown -R 1000:1000 workers/n1"));
}

TEST(IntelMpi, ThatFindsNoLibfabricCannotStart) {
  World world = good_world_with_program(2);
  facts::Mpi intel{.kind = "intel",
                   .version = "2021.19",
                   .launcher = "/opt/intel/bin/mpirun",
                   .library = {"/opt/intel/lib/libmpi.so.12", "hash", 1000}};
  world.launcher.mpi = world.host(1).mpi = world.host(2).mpi = {intel};
  for (int number : {1, 2}) {
    world.host(number).program->libmpi_kind = "intel";
    world.host(number).program->libmpi_version = "2021.19";
    world.host(number).program->libmpi = intel.library;
  }
  EXPECT_EQ(brief(world), "");
  world.host(2).mpi[0].missing_library = "libfabric.so.1";
  world.host(2).mpi[0].missing_is_in = "/opt/intel/lib";
  ASSERT_EQ(brief(world), "error n2 intelmpi-no-libfabric");
  const Finding finding = judged(world).front();
  EXPECT_EQ(finding.what,
            "Intel MPI 2021.19 cannot start in a rank: it does not find "
            "libfabric.so.1");
  EXPECT_TRUE(has(finding.fix, "LD_LIBRARY_PATH=/opt/intel/lib:$LD_LIBRARY_PATH")) << finding.fix;
  world.host(1).program->libmpi_kind = world.host(2).program->libmpi_kind = "";
  EXPECT_EQ(brief(world), "warning n2 intelmpi-no-libfabric") << "a program that may not use MPI";
}

}  // namespace
}  // namespace muster::checks
