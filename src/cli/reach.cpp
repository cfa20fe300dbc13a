#include "cli/reach.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "remote/ssh.hpp"

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

}  // namespace

Result<Reach> find_reach(const JobOptions& options) {
  return over_ssh(options);
}

}  // namespace muster::cli
