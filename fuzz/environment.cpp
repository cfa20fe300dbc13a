// The input is an environment: entries "NAME=value", each ended by NUL. It is parsed for the rank,
// the pod and Slurm's hosts.
#include <climits>
#include <string>

#include "agent/rank_environment.hpp"
#include "good_hosts.hpp"
#include "hosts/allocation.hpp"
#include "hosts/pod.hpp"
#include "rankenv/rank.hpp"

namespace muster::fuzz {
namespace {

void check_rank(const rankenv::Environment& environment) {
  const auto rank = rankenv::read(environment);
  if (!rank) return require_printable(to_text(rank.error()));
  require(rank->rank >= 0 && rank->rank < rank->size, "a rank is one of all");
  require(rank->local_rank >= 0 && rank->local_rank < rank->local_size, "a rank is on its host");
  require(rank->host_rank.value_or(0) >= 0, "hosts are counted from 0");
  require(rank->host_rank.value_or(0) < rank->host_count.value_or(INT_MAX), "one of all hosts");
  (void)rankenv::is_mpi_job(*rank, environment);
  const auto composed = agent::compose(agent::lay_over({}, environment, *rank),
                                       {.rank = *rank, .run_id = "r", .unbuffered = true});
  const auto found = composed.environment.find("RANK");
  require(rank->under_agent ||
              (found != composed.environment.end() && found->second == std::to_string(rank->rank)),
          "a program learns its rank");
  for (const std::string& kept : composed.kept) require(is_printable(kept), "one line each");
}

void check_pod(const hosts::Environment& environment) {
  const auto pod = hosts::read_pod(environment);
  if (!pod) return require_printable(to_text(pod.error()));
  if (!*pod) return;
  require((*pod)->rank >= 0 && (*pod)->rank < (*pod)->count, "a pod is one of all");
  require((*pod)->master_port > 0 && (*pod)->master_port <= 65535, "only good ports");
  const auto ranks = hosts::ranks_on_each(**pod, {.ranks = 8});
  if (!ranks) return require_printable(to_text(ranks.error()));
  require(*ranks >= 0, "a number of ranks is not negative");
}

void check_allocation(const hosts::Environment& environment) {
  const auto allocation = hosts::read_allocation(environment);
  if (!allocation) return require_printable(to_text(allocation.error()));
  if (!*allocation) return;
  require(!(*allocation)->hosts.empty(), "an allocation has hosts");
  for (const hosts::Host& host : (*allocation)->hosts) {
    require(hosts::is_name(host.name) || hosts::is_ipv6(host.name), "only good names");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto environment =
      muster::agent::parse_environment({reinterpret_cast<const char*>(data), size});
  for (const auto& [name, value] : environment) {
    muster::fuzz::require(!name.empty() && value.find('\0') == std::string::npos, "good entries");
  }
  muster::fuzz::check_rank(environment);
  muster::fuzz::check_pod(environment);
  muster::fuzz::check_allocation(environment);
  return 0;
}
