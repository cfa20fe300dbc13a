#include "cli/reach.hpp"

#include <algorithm>
#include <climits>

#include <fmt/format.h>
#include <unistd.h>

#include "remote/local.hpp"
#include "remote/ssh.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::cli {
namespace {

constexpr int kConnectSeconds = 10;  // at most

Result<Reach> over_ssh(const JobOptions& options) {
  if (options.node_rank) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("--node-rank {} was asked for, and this is no pod", *options.node_rank),
        .hint = "leave it out, and start muster once: it starts the ranks on all hosts, which "
                "are numbered as they are listed"});
  }
  Reach reach;
  MUSTER_TRY(reach.cluster, read_cluster(options.cluster));
  reach.transport = std::make_unique<remote::Ssh>(remote::SshOptions{
      .user = reach.cluster.user,
      .port = reach.cluster.port,
      .connect_timeout = std::chrono::seconds(std::min(options.answer_within_s, kConnectSeconds))});
  return reach;
}

// Hosts that the user names are reached over ssh, wherever we are.
bool names_hosts(const ClusterOptions& options) {
  return !options.expression.empty() || !options.hostfile.empty() || !options.config.empty();
}

hosts::Environment own_environment() {
  hosts::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Reach in_pod(hosts::Pod pod) {
  char name[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(name, HOST_NAME_MAX);
  Reach reach{.transport = std::make_unique<remote::Local>(),
              .engine = "pods",
              .why = fmt::format("this is pod {} of {} ({})", pod.rank, pod.count, pod.told_by)};
  reach.cluster.hosts = {{.name = name[0] == 0 ? "localhost" : name}};
  reach.cluster.source = pod.told_by;
  reach.pod = std::move(pod);
  return reach;
}

}  // namespace

Result<Reach> find_reach(const JobOptions& options) {
  const std::string& engine = options.job.engine;
  const bool may_be_pod = engine.empty() || engine == "pods" || engine == "torchrun";
  if (!may_be_pod || names_hosts(options.cluster)) return over_ssh(options);
  MUSTER_TRY(std::optional<hosts::Pod> pod, hosts::read_pod(own_environment()));
  if (pod) return in_pod(*std::move(pod));
  if (engine != "pods") return over_ssh(options);
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = "this is no pod of a job: neither WORLD_SIZE and RANK nor PET_NNODES and "
                    "PET_NODE_RANK are set",
            .hint = "leave --engine pods out, or start it where the platform sets them"});
}

}  // namespace muster::cli
