#include "cli/reach.hpp"

#include <algorithm>

#include "remote/ssh.hpp"

namespace muster::cli {
namespace {

constexpr int kConnectSeconds = 10;  // at most

Result<Reach> over_ssh(const JobOptions& options) {
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
