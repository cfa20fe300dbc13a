#include <gtest/gtest.h>

#include "launch/engine_plans.hpp"
#include "launch/three_hosts.hpp"

namespace muster::launch {
namespace {

layout::Job job() {
  return three_hosts_job();
}

layout::Layout three_hosts(const std::string& version, int major) {
  return three_hosts_layout(
      {.kind = "openmpi", .version = version, .major = major, .launcher = "/opt/mpi/bin/mpirun"});
}

Means means() {
  return three_hosts_means({"ssh", "-o", "ControlPath=/s/%C"});
}

using Words = std::vector<std::string>;

TEST(OpenMpi, Version5IsToldInPrrtesWords) {
  const auto plan = plan_openmpi(job(), three_hosts("5.0.11", 5), means());
  ASSERT_TRUE(plan);
  const std::string expected =
      "/opt/mpi/bin/mpirun --prtemca plm_ssh_agent 'ssh -o ControlPath=/s/%C' --prtemca "
      "plm_ssh_no_tree_spawn 1 --prtemca muster_run_id r1 --prtemca prte_if_include "
      "198.18.0.0/16 --mca btl_tcp_if_include 198.18.0.0/16 --host n1:2,n2:2,n3:2 -n 6 --bind-to "
      "none -x NCCL_DEBUG -x OMP_NUM_THREADS -x MUSTER_FORWARD -x MUSTER_DEFAULT "
      "/tmp/muster-1000/abc/muster rank " +
      rank_words();
  EXPECT_EQ(line_of(plan->commands[0]), expected);
  EXPECT_EQ(plan->env, (Words{"OMP_NUM_THREADS=4", "MUSTER_FORWARD=NCCL_DEBUG",
                              "MUSTER_DEFAULT=OMP_NUM_THREADS"}));
  EXPECT_TRUE(plan->files.empty());
  EXPECT_TRUE(plan->notes.empty());
}

TEST(OpenMpi, Version4IsToldInOrtesWords) {
  const Plan plan = plan_openmpi(job(), three_hosts("4.1.4", 4), means()).value_or(Plan{});
  ASSERT_EQ(plan.commands.size(), 1U);
  EXPECT_EQ(line_of(plan.commands[0]),
            "/opt/mpi/bin/mpirun --mca plm_rsh_agent 'ssh -o ControlPath=/s/%C' --mca "
            "plm_rsh_no_tree_spawn 1 --mca muster_run_id r1 --mca oob_tcp_if_include 198.18.0.0/16 "
            "--mca btl_tcp_if_include 198.18.0.0/16 --host n1:2,n2:2,n3:2 -n 6 --bind-to none -x "
            "NCCL_DEBUG -x OMP_NUM_THREADS -x MUSTER_FORWARD -x MUSTER_DEFAULT "
            "/tmp/muster-1000/abc/muster rank " +
                rank_words());
}

bool has(const Plan& plan, const std::string& word) {
  return std::find(plan.commands[0].argv.begin(), plan.commands[0].argv.end(), word) !=
         plan.commands[0].argv.end();
}

TEST(OpenMpi, OnlyRootIsAllowedToRunAsRoot) {
  Means as_root = means();
  as_root.as_root = true;
  EXPECT_TRUE(has(*plan_openmpi(job(), three_hosts("5.0.11", 5), as_root), "--allow-run-as-root"));
  EXPECT_FALSE(has(*plan_openmpi(job(), three_hosts("5.0.11", 5), means()), "--allow-run-as-root"));
}

TEST(OpenMpi, LeavesBindingToGpusToTheRanks) {
  auto layout = three_hosts("5.0.11", 5);
  layout.bind_to = "gpu";
  const auto plan = plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(*plan, "none"));
  EXPECT_FALSE(has(*plan, "gpu"));
}

TEST(OpenMpi, ALauncherOnAnotherNetworkMeetsTheHostsThere) {
  auto layout = three_hosts("5.0.11", 5);
  layout.launcher_subnet = "192.168.7.0/24";
  const auto plan = plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(*plan, "198.18.0.0/16,192.168.7.0/24"));  // for connections to the launcher
  // The ranks' traffic is still confined to the job's own subnet.
  EXPECT_TRUE(has(*plan, "198.18.0.0/16"));
}

TEST(OpenMpi, AUsersOwnSettingWinsAndIsSaid) {
  Means with_settings = means();
  with_settings.user_env = {"OMPI_MCA_btl_tcp_if_include", "PRTE_MCA_plm_ssh_agent",
                            "OMP_NUM_THREADS"};
  const auto plan = plan_openmpi(job(), three_hosts("5.0.11", 5), with_settings);
  EXPECT_FALSE(has(*plan, "btl_tcp_if_include"));
  EXPECT_FALSE(has(*plan, "plm_ssh_agent"));
  EXPECT_EQ(plan->env, (Words{"MUSTER_FORWARD=NCCL_DEBUG,OMP_NUM_THREADS", "MUSTER_DEFAULT="}));
  EXPECT_EQ(plan->notes.size(), 3U);
}

TEST(OpenMpi, AFlagGivenToTheEngineIsNotGivenTwice) {
  auto with_args = job();
  with_args.engine_args = {"--mca", "btl_tcp_if_include", "eth7"};
  const auto plan = plan_openmpi(with_args, three_hosts("4.1.4", 4), means());
  EXPECT_EQ(std::count(plan->commands[0].argv.begin(), plan->commands[0].argv.end(),
                       "btl_tcp_if_include"),
            1);
  EXPECT_TRUE(has(*plan, "eth7"));
}

TEST(OpenMpi, ManyHostsGoIntoAFile) {
  auto layout = three_hosts("5.0.11", 5);
  layout.placements.clear();
  for (int i = 0; i < 65; ++i) {
    layout.placements.push_back({.host = "h" + std::to_string(i), .first_rank = i, .ranks = 1});
  }
  layout.ranks = 65;
  const auto plan = plan_openmpi(job(), layout, means());
  ASSERT_EQ(plan->files.size(), 1U);
  EXPECT_EQ(plan->files[0].path, "/home/dev/runs/r1/hosts");
  EXPECT_EQ(plan->files[0].content.substr(0, 24), "h0 slots=1\nh1 slots=1\nh2");
  EXPECT_TRUE(has(*plan, "--hostfile"));
  EXPECT_FALSE(has(*plan, "--host"));
}

TEST(OpenMpi, NeedsNoSshWhereAllRanksRunOnThisMachine) {
  auto layout = three_hosts("5.0.11", 5);
  layout.placements[0].here = true;
  const auto some = plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(*some, "localhost:2,n2:2,n3:2"));
  EXPECT_TRUE(has(*some, "plm_ssh_agent"));
  layout.placements.resize(1);
  Means blank = means();
  blank.ssh = {"ssh", "-o", "ControlPath=/a b/%C"};
  const auto alone = plan_openmpi(job(), layout, blank);
  ASSERT_TRUE(alone);
  EXPECT_TRUE(has(*alone, "localhost:2"));
  EXPECT_FALSE(has(*alone, "plm_ssh_agent"));
  EXPECT_FALSE(has(*alone, "prte_if_include"));
  EXPECT_TRUE(has(*alone, "btl_tcp_if_include"));
}

TEST(OpenMpi, TooManyRanksForTheCoresGiveWay) {
  auto layout = three_hosts("5.0.11", 5);
  layout.oversubscribed = true;
  EXPECT_TRUE(has(*plan_openmpi(job(), layout, means()), "mpi_yield_when_idle"));
}

TEST(OpenMpi, NcclsRdmaIsNeverSwitchedOffSilently) {
  auto layout = three_hosts("5.0.11", 5);
  EXPECT_FALSE(has(*plan_openmpi(job(), layout, means()), "NCCL_IB_DISABLE"));
  layout.rdma_given_up = true;
  const Plan plan = *plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(plan, "NCCL_IB_DISABLE"));
  EXPECT_EQ(plan.env.at(1), "NCCL_IB_DISABLE=1");
  EXPECT_EQ(plan.notes, (Words{"muster sets NCCL_IB_DISABLE=1: the hosts share no RDMA fabric, so "
                               "NCCL uses TCP"}));
  Means set = means();
  set.user_env = {"NCCL_IB_DISABLE"};
  EXPECT_EQ(plan_openmpi(job(), layout, set)->notes,
            (Words{"NCCL_IB_DISABLE is set in your environment; muster does not change it"}));
}

TEST(OpenMpi, AnSshPathWithABlankIsRefused) {
  Means blank = means();
  blank.ssh.back() = "ControlPath=/a b/%C";
  EXPECT_FALSE(plan_openmpi(job(), three_hosts("5.0.11", 5), blank));
}

TEST(Plan, IsACommandLineToPaste) {
  const Plan plan{.commands = {{.argv = {"mpirun", "a b"}}}, .env = {"X=1 2", "Y=3"}};
  EXPECT_EQ(to_command_line(plan), "X='1 2' Y=3 mpirun 'a b'");
}

TEST(OpenMpi, InAnAllocationGoesOverSshAllTheSame) {
  Means inside = means();
  inside.user_env = {"SLURM_JOB_ID"};
  const auto five = plan_openmpi(job(), three_hosts("5.0.11", 5), inside);
  const auto four = plan_openmpi(job(), three_hosts("4.1.4", 4), inside);
  ASSERT_TRUE(five && four);
  const auto value = [](const Plan& plan, const std::string& name) {
    const Words& argv = plan.commands[0].argv;
    const auto found = std::find(argv.begin(), argv.end(), name);
    return found == argv.end() ? "" : *(found + 1);
  };
  EXPECT_EQ(value(*five, "plm"), "ssh");
  EXPECT_EQ(value(*four, "plm"), "rsh");
  EXPECT_EQ(value(*four, "ras"), "^slurm");
}

// Open MPI would reject the network fd00::/64, and version 5 crashes if the named interface is
// missing on a host.
TEST(OpenMpi, IsToldTheNameOfTheInterfaceInAnIpv6NetworkIfAllHostsHaveIt) {
  for (const int major : {4, 5}) {
    auto layout = three_hosts("", major);
    layout.subnet = "fd00::/64";
    layout.launcher_interface = "eth0";
    for (auto& placement : layout.placements) placement.interface = "eth0";
    const auto same = plan_openmpi(job(), layout, means());
    EXPECT_TRUE(has(*same, "eth0"));
    EXPECT_TRUE(has(*same, "oob_tcp_disable_ipv4_family"));
    EXPECT_FALSE(has(*same, "btl_tcp_if_include"));  // the shim gives each rank its own interface
    layout.placements[2].interface = "ens5";
    const auto different = plan_openmpi(job(), layout, means());
    EXPECT_FALSE(has(*different, "eth0"));
    EXPECT_TRUE(has(*different, "oob_tcp_disable_ipv4_family"));
  }
}

TEST(OpenMpi, ALauncherWithIpv6OnlyChangesNothingForTheRanks) {
  auto layout = three_hosts("5.0.11", 5);
  layout.launcher_subnet = "fd00::/64";
  const auto plan = plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(*plan, "oob_tcp_disable_ipv4_family"));
  EXPECT_TRUE(has(*plan, "btl_tcp_if_include"));
  EXPECT_TRUE(has(*plan, "198.18.0.0/16"));
}

TEST(OpenMpi, HostsListedByIpv6AddressesStandInAFile) {
  auto layout = three_hosts("5.0.11", 5);
  layout.placements[1].host = "fd00::2";
  const auto plan = plan_openmpi(job(), layout, means());
  EXPECT_TRUE(has(*plan, "--hostfile"));
  EXPECT_EQ(plan->files.at(0).content, "n1 slots=2\nfd00::2 slots=2\nn3 slots=2\n");
}

}  // namespace
}  // namespace muster::launch
