#include "cli/reach.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "cli/config_file.hpp"
#include "cli/this_machine.hpp"
#include "engines/kind.hpp"
#include "hosts/allocation.hpp"
#include "hosts/fold.hpp"
#include "remote/local.hpp"
#include "remote/ssh.hpp"
#include "remote/steps.hpp"

namespace muster::cli {
namespace {

using engines::HostsBy;

constexpr int kConnectSeconds = 10;  // at most

// Variables by which users configure srun. muster removes them, because its steps use a line-based
// protocol that they would garble. SLURM_NTASKS_PER_NODE would make every step with another number
// of tasks print a warning.
constexpr std::array kNotForSteps = {
    "SLURM_LABELIO",    "SLURM_UNBUFFEREDIO", "SLURM_STDINMODE",      "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE", "SLURM_HOSTFILE",     "SLURM_NTASKS_PER_NODE"};

// If the user names no hosts, the job runs on this machine. Inside a Slurm job this is rejected,
// because a user who chose another engine there hardly means only this machine.
WithoutHosts without_hosts() {
  const auto allocated = in_allocation();
  return allocated && !*allocated ? WithoutHosts::kThisMachine : WithoutHosts::kRefused;
}

Result<Reach> over_ssh(const JobOptions& options, std::chrono::seconds patience) {
  if (options.node_rank) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("--node-rank {} works only in a pod, and muster does not run in one",
                            *options.node_rank),
        .hint = "leave --node-rank out and start muster once: it starts the ranks on all hosts and "
                "numbers the hosts in the order of the list"});
  }
  Reach reach;
  MUSTER_TRY(reach.cluster, read_cluster(options.cluster, without_hosts()));
  MUSTER_TRY(const std::string here, find_this_machine(reach.cluster, NamedTwice::kRefused));
  auto ssh = std::make_unique<remote::Ssh>(remote::SshOptions{
      .user = reach.cluster.user,
      .port = reach.cluster.port,
      .connect_timeout = std::chrono::seconds(std::min(options.answer_within_s, kConnectSeconds)),
      .patience = patience,
      .this_machine = here});
  if (patience > remote::kSshPatience) {
    std::vector<std::string> names;
    for (const hosts::Host& host : reach.cluster.hosts) names.push_back(host.name);
    std::erase(names, here);
    ssh->renew(names);
  }
  reach.transport = std::move(ssh);
  return reach;
}

// Whether the user named hosts. If so, muster reaches them over ssh, even from a pod. A muster.yaml
// that muster found by itself may be meant for another machine than this pod, so only the file of
// --config counts.
bool names_hosts(const ClusterOptions& options) {
  if (!options.expression.empty() || !options.hostfile.empty()) return true;
  if (options.config.empty() || !options.file) return !options.config.empty();
  const hosts::Config& config = options.file->config;
  return !config.hosts.empty() || !config.hostfile.empty();
}

Reach in_pod(hosts::Pod pod) {
  char name[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(name, HOST_NAME_MAX);
  Reach reach{.transport = std::make_unique<remote::Local>(),
              .engine = std::string(engines::reached_by(HostsBy::kPod).word),
              .why = fmt::format("this is pod {} of {} ({})", pod.rank, pod.count, pod.told_by)};
  reach.cluster.hosts = {{.name = name[0] == 0 ? "localhost" : name}};
  reach.cluster.source = pod.told_by;
  reach.pod = std::move(pod);
  return reach;
}

std::string host_list(const std::vector<hosts::Host>& all) {
  std::string list;
  for (const hosts::Host& host : all) {
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, std::max(host.slots, 1));
  }
  return list;
}

std::string folded(const std::vector<hosts::Host>& all) {
  std::vector<std::string> names;
  for (const hosts::Host& host : all) names.push_back(host.name);
  return hosts::fold(names);
}

// The cluster's hosts in the order of the allocation, which is how Slurm numbers them. Nothing if
// one of them is not in the allocation.
std::optional<std::vector<hosts::Host>> within(const hosts::Allocation& allocation,
                                               const std::vector<hosts::Host>& wanted) {
  std::map<std::string, int> slots;
  for (const hosts::Host& host : wanted) slots.emplace(host.name, host.slots);
  std::vector<hosts::Host> kept;
  for (const hosts::Host& host : allocation.hosts) {
    const auto found = slots.find(host.name);
    if (found == slots.end()) continue;
    kept.push_back({host.name, found->second > 0 ? found->second : host.slots});
  }
  if (kept.size() < wanted.size()) return std::nullopt;
  return kept;
}

// Reaches the hosts by steps of the allocation. Returns nothing if the user asked for hosts outside
// it.
Result<std::optional<Reach>> by_steps(const JobOptions& options,
                                      const hosts::Allocation& allocation) {
  ClusterOptions named = options.cluster;
  if (named.expression.empty() && named.hostfile.empty() && named.members.empty()) {
    named.expression = host_list(allocation.hosts);
  }
  Reach reach{.allocation = allocation.job,
              .engine = std::string(engines::reached_by(HostsBy::kAllocation).word)};
  MUSTER_TRY(reach.cluster, read_cluster(named));
  auto kept = within(allocation, reach.cluster.hosts);
  if (!kept && needs_allocation(options.job)) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("not all of {} belong to the Slurm job {}, which has {}",
                            folded(reach.cluster.hosts), allocation.job, folded(allocation.hosts)),
        .hint = "leave -H out to run on all hosts of the Slurm job"});
  }
  if (!kept) return std::optional<Reach>();
  reach.cluster.hosts = *std::move(kept);
  // The user's number of ranks per host counts, even if Slurm was asked for another number of
  // tasks.
  if (options.job.ranks_per_host > 0) {
    for (hosts::Host& host : reach.cluster.hosts) host.slots = 0;
  }
  reach.cluster.source = "Slurm job " + allocation.job;
  reach.transport = std::make_unique<remote::Steps>(allocation.job);
  for (const char* name : kNotForSteps) (void)::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  return std::optional<Reach>(std::move(reach));
}

Error no_pod() {
  return {
      .code = ErrorCode::kUsage,
      .what =
          "muster does not run in a pod of a job: neither WORLD_SIZE and RANK nor PET_NNODES and "
          "PET_NODE_RANK are set",
      .hint = "leave --engine pods out, or start muster where the platform sets these variables"};
}

}  // namespace

bool needs_allocation(const layout::Job& job) {
  return engines::find(job.engine).hosts_by == HostsBy::kAllocation;
}

Result<bool> in_allocation() {
  MUSTER_TRY(const auto allocation, hosts::read_allocation(own_environment()));
  return allocation.has_value();
}

bool has_whole_hosts() {
  const auto environment = own_environment();
  const auto allocation = hosts::read_allocation(environment);
  const auto pod = hosts::read_pod(environment);
  const bool in_kubernetes = environment.contains("KUBERNETES_SERVICE_HOST");
  // An Error means that the variables of a job or pod are set but contradict each other.
  return allocation && !*allocation && pod && !*pod && !in_kubernetes;
}

Result<void> check_may_save() {
  if (has_whole_hosts()) return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "--save does not work inside a Slurm job or a pod, because the "
                                  "job may be allowed to use only a part of its hosts",
                          .hint = "run the same command where muster reaches the hosts over ssh"});
}

Result<std::optional<hosts::Pod>> find_pod(const JobOptions& options) {
  if (options.pod) return options.pod;
  const std::string& engine = options.job.engine;
  const bool may_be_pod = engine.empty() || engines::find(engine).comes_with_pytorch;
  if (!may_be_pod || names_hosts(options.cluster)) return std::optional<hosts::Pod>();
  return hosts::read_pod(own_environment());
}

Result<Reach> find_reach(const JobOptions& options, std::chrono::seconds patience) {
  const std::string& engine = options.job.engine;
  const engines::Kind& kind = engines::find(engine);
  const bool asked = needs_allocation(options.job);
  MUSTER_TRY(std::optional<hosts::Pod> pod, find_pod(options));
  if (pod) return in_pod(*std::move(pod));
  if (kind.hosts_by == HostsBy::kPod) return unexpected(no_pod());
  if (!asked && (!engine.empty() || !options.job.launcher.empty()))
    return over_ssh(options, patience);
  MUSTER_TRY(const auto allocation, hosts::read_allocation(own_environment()));
  if (allocation) {
    MUSTER_TRY(auto reach, by_steps(options, *allocation));
    if (reach) return *std::move(reach);
  }
  if (!asked) return over_ssh(options, patience);
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = "--engine slurm needs an allocation, but muster does not run inside one",
      .hint =
          "put 'salloc -N 2' before the command, or use muster run, which calls salloc itself"});
}

}  // namespace muster::cli
