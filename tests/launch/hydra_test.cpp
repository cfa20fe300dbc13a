#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "launch/engine_plans.hpp"
#include "launch/three_hosts.hpp"
#include "sys/process.hpp"

namespace muster::launch {
namespace {

using Words = std::vector<std::string>;

layout::Job job() {
  layout::Job job = three_hosts_job();
  job.folder = "/home/dev/job";
  return job;
}

layout::Layout three_hosts(const std::string& kind) {
  layout::Layout layout = three_hosts_layout(
      {.kind = kind, .version = "5.0.2", .major = 5, .launcher = "/opt/mpi/bin/mpirun"});
  layout.launcher_interface = "eth0";
  layout.launcher_address = "198.18.0.1";
  return layout;
}

Means means() {
  return three_hosts_means({"ssh", "-o", "ControlPath=/a b/%C"});
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has(const Plan& plan, const std::string& word) {
  return has(plan.commands[0].argv, word);
}

// Returns the word after a flag, or "" if the flag is missing.
std::string value_of(const Plan& plan, const std::string& flag) {
  const Words& argv = plan.commands[0].argv;
  const auto at = std::find(argv.begin(), argv.end(), flag);
  return at == argv.end() || at + 1 == argv.end() ? "" : *(at + 1);
}

TEST(Hydra, MpichIsToldInItsOwnWords) {
  const Plan plan = *plan_hydra(job(), three_hosts("mpich"), means());
  const std::string expected =
      "/opt/mpi/bin/mpirun -launcher ssh -launcher-exec /home/dev/runs/r1/ssh -localhost "
      "198.18.0.1 -hosts n1,n2,n3 -ppn 2 -n 6 -bind-to none -wdir / -genvnone "
      "/tmp/muster-1000/abc/muster rank --folder /home/dev/job --only-first-reads " +
      rank_words();
  EXPECT_EQ(line_of(plan.commands[0]), expected);
  EXPECT_EQ(plan.env, (Words{"HYDRA_LAUNCHER_AUTOFORK=0", "OMP_NUM_THREADS=4",
                             "MUSTER_FORWARD=NCCL_DEBUG", "MUSTER_DEFAULT=OMP_NUM_THREADS"}));
  EXPECT_EQ(plan.carried,
            (Words{"NCCL_DEBUG", "OMP_NUM_THREADS", "MUSTER_FORWARD", "MUSTER_DEFAULT"}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Hydra, IntelIsToldInItsOwnWords) {
  const Plan plan = *plan_hydra(job(), three_hosts("intel"), means());
  const std::string expected =
      "/opt/mpi/bin/mpiexec.hydra -bootstrap ssh -bootstrap-exec /home/dev/runs/r1/ssh "
      "-branch-count 3 -iface eth0 -hosts n1,n2,n3 -ppn 2 -n 6 -genvlist "
      "NCCL_DEBUG,OMP_NUM_THREADS,MUSTER_FORWARD,MUSTER_DEFAULT,I_MPI_PIN "
      "/tmp/muster-1000/abc/muster rank --only-first-reads " +
      rank_words();
  EXPECT_EQ(line_of(plan.commands[0]), expected);
  EXPECT_EQ(plan.env, (Words{"I_MPI_HYDRA_BOOTSTRAP_AUTOFORK=0", "I_MPI_PIN=0", "OMP_NUM_THREADS=4",
                             "MUSTER_FORWARD=NCCL_DEBUG", "MUSTER_DEFAULT=OMP_NUM_THREADS"}));
  EXPECT_TRUE(plan.carried.empty());
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Hydra, ItsSshIsAProgramThatRidesOnTheOpenConnections) {
  const Plan plan = *plan_hydra(job(), three_hosts("mpich"), means());
  ASSERT_EQ(plan.files.size(), 1U);
  EXPECT_EQ(plan.files[0].path, "/home/dev/runs/r1/ssh");
  EXPECT_EQ(plan.files[0].mode, 0700U);
  const std::string& script = plan.files[0].content;
  EXPECT_TRUE(script.starts_with("#!/bin/sh\nmark=MUSTER_RUN_ID=r1\n")) << script;
  EXPECT_TRUE(script.ends_with("\nexec ssh -o 'ControlPath=/a b/%C' \"$@\"\n")) << script;
}

// Returns the output of hydra's ssh script for these words. A replacement for ssh prints its
// arguments.
std::string printed(const Plan& plan, Words words) {
  words.insert(words.begin(), {"/bin/sh", "-c", plan.files.at(0).content, "ssh"});
  const auto ended = sys::run({.argv = words, .deadline = std::chrono::seconds(20)});
  return ended ? ended->out : to_text(ended.error());
}

TEST(Hydra, ItsSshStartsTheDaemonOfThisMachineItself) {
  auto layout = three_hosts("mpich");
  const Means telling = three_hosts_means({"echo", "ssh"});
  const Plan elsewhere = *plan_hydra(job(), layout, telling);
  EXPECT_EQ(printed(elsewhere, {"-x", "localhost", "echo", "a"}), "ssh -x localhost echo a\n");
  layout.placements[1].here = true;
  const Plan plan = *plan_hydra(job(), layout, telling);
  EXPECT_EQ(value_of(plan, "-hosts"), "n1,localhost,n3");
  EXPECT_EQ(printed(plan, {"-x", "localhost", "echo", "\"a  b\"", "localhost"}),
            "a  b localhost\n");
  EXPECT_EQ(printed(plan, {"-q", "localhost", "env", "/x/hydra_pmi_proxy=1", "|", "grep",
                           "MUSTER_RUN_ID"}),
            "MUSTER_RUN_ID=r1\n");
  EXPECT_EQ(printed(plan, {"-x", "n1", "echo", "localhost"}), "ssh -x n1 echo localhost\n");
}

TEST(Hydra, HostsThatDifferOrAreManyGoIntoAFile) {
  for (const auto& [kind, flag] : {std::pair{"mpich", "-f"}, std::pair{"intel", "-machinefile"}}) {
    auto layout = three_hosts(kind);
    layout.placements[1].ranks = 1;
    layout.ranks = 5;
    const Plan uneven = *plan_hydra(job(), layout, means());
    ASSERT_EQ(uneven.files.size(), 2U);
    EXPECT_EQ(uneven.files[1].content, "n1:2\nn2:1\nn3:2\n");
    EXPECT_EQ(value_of(uneven, flag), uneven.files[1].path);
    EXPECT_FALSE(has(uneven, "-hosts"));
    EXPECT_FALSE(has(uneven, "-ppn"));

    layout.placements.assign(65, {.host = "h", .ranks = 1});
    EXPECT_EQ(plan_hydra(job(), layout, means())->files.size(), 2U);
    layout.placements.pop_back();
    EXPECT_EQ(plan_hydra(job(), layout, means())->files.size(), 1U);
  }
}

TEST(Hydra, ALauncherWithoutAnAddressLeavesItToTheEngine) {
  for (const auto* kind : {"mpich", "intel"}) {
    auto layout = three_hosts(kind);
    layout.launcher_interface.clear();
    layout.launcher_address.clear();
    const Plan plan = *plan_hydra(job(), layout, means());
    EXPECT_FALSE(has(plan, "-iface"));
    EXPECT_FALSE(has(plan, "-localhost"));
  }
}

TEST(Hydra, BindingIsTheUsersOrNone) {
  auto mpich = three_hosts("mpich");
  mpich.bind_to = "core";
  mpich.map_by = "socket";
  const Plan bound = *plan_hydra(job(), mpich, means());
  EXPECT_EQ(value_of(bound, "-bind-to"), "core");
  EXPECT_EQ(value_of(bound, "-map-by"), "socket");

  auto intel = three_hosts("intel");
  intel.bind_to = "socket";
  intel.map_by = "scatter";
  const Plan pinned = *plan_hydra(job(), intel, means());
  for (const auto* entry : {"I_MPI_PIN=1", "I_MPI_PIN_DOMAIN=socket", "I_MPI_PIN_ORDER=scatter"}) {
    EXPECT_TRUE(has(pinned.env, entry)) << entry;
  }
  EXPECT_TRUE(
      value_of(pinned, "-genvlist").ends_with(",I_MPI_PIN,I_MPI_PIN_DOMAIN,I_MPI_PIN_ORDER"));
}

TEST(Hydra, LeavesBindingToGpusToTheRanks) {
  auto mpich = three_hosts("mpich");
  auto intel = three_hosts("intel");
  mpich.bind_to = intel.bind_to = "gpu";
  EXPECT_EQ(value_of(*plan_hydra(job(), mpich, means()), "-bind-to"), "none");
  const Plan plan = *plan_hydra(job(), intel, means());
  EXPECT_TRUE(has(plan.env, "I_MPI_PIN=0"));
  EXPECT_FALSE(has(plan.env, "I_MPI_PIN_DOMAIN=gpu"));
}

TEST(Hydra, TooManyRanksForTheCoresGiveWay) {
  auto layout = three_hosts("intel");
  layout.oversubscribed = true;
  EXPECT_TRUE(has(plan_hydra(job(), layout, means())->env, "I_MPI_THREAD_YIELD=2"));
  layout.engine.kind = "mpich";
  const Plan plan = *plan_hydra(job(), layout, means());
  EXPECT_TRUE(has(plan.env, "MPIR_CVAR_POLLS_BEFORE_YIELD=1"));
  EXPECT_TRUE(has(plan.carried, "MPIR_CVAR_POLLS_BEFORE_YIELD"));
}

TEST(Hydra, AFlagOfTheUsersTakesTheFirstsPlaceAloud) {  // hydra fails if it gets a flag twice
  auto with_args = job();
  with_args.engine_args = {"-np", "4", "--bootstrap-exec", "/my/ssh", "-iface", "ib0", "-genvall"};
  for (const auto* kind : {"mpich", "intel"}) {
    const Plan plan = *plan_hydra(with_args, three_hosts(kind), means());
    for (const auto* ours :
         {"-n", "-launcher-exec", "-bootstrap-exec", "-localhost", "-genvnone"}) {
      EXPECT_FALSE(has(plan, ours)) << kind << " " << ours;
    }
    EXPECT_FALSE(has(plan, "-genvlist")) << kind;
    EXPECT_EQ(value_of(plan, "-iface"), "ib0");
    EXPECT_TRUE(plan.files.empty());
    EXPECT_EQ(plan.notes,
              (Words{"-bootstrap-exec comes from --engine-arg; muster does not change it",
                     "-iface comes from --engine-arg; muster does not change it",
                     "-np comes from --engine-arg; muster does not change it",
                     "-genvall comes from --engine-arg; muster does not change it"}));
  }
}

TEST(Hydra, OnlyTheFirstRankReadsUnlessTheUserSaysWho) {
  auto with_args = job();
  with_args.engine_args = {"-s", "all"};
  EXPECT_FALSE(has(*plan_hydra(with_args, three_hosts("intel"), means()), "--only-first-reads"));
}

TEST(Hydra, SettingsInTheUsersEnvironmentStayAndReachTheRanks) {
  Means with_settings = means();
  with_settings.user_env = {"I_MPI_PIN", "I_MPI_HYDRA_IFACE", "I_MPI_DEBUG", "MPIR_CVAR_DEBUG"};
  const Plan intel = *plan_hydra(job(), three_hosts("intel"), with_settings);
  EXPECT_FALSE(has(intel.env, "I_MPI_PIN=0"));
  EXPECT_FALSE(has(intel, "-iface"));
  EXPECT_TRUE(has(intel.env, "MUSTER_FORWARD=I_MPI_DEBUG,I_MPI_PIN,NCCL_DEBUG"));
  EXPECT_EQ(intel.notes.size(), 2U);
  const Plan mpich = *plan_hydra(job(), three_hosts("mpich"), with_settings);
  EXPECT_TRUE(has(mpich.carried, "MPIR_CVAR_DEBUG"));
  EXPECT_FALSE(has(mpich.carried, "I_MPI_DEBUG"));
}

TEST(Hydra, IntelIsToldToUseIpv6) {
  layout::Layout layout = three_hosts("intel");
  EXPECT_FALSE(has(*plan_hydra(job(), layout, means()), "-v6"));
  layout.subnet = "fd00::/64";
  EXPECT_TRUE(has(*plan_hydra(job(), layout, means()), "-v6"));
}

}  // namespace
}  // namespace muster::launch
