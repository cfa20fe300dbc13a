#include "why/idle.hpp"

#include <algorithm>
#include <map>

#include "why/numbers.hpp"

namespace muster::why {
namespace {

constexpr double kComputes = 0.05;              // share of a CPU
constexpr std::int64_t kReadsOrWrites = 65536;  // bytes; more than heartbeats need

bool advances(const inspect::RankView& rank) {
  return std::any_of(rank.groups.begin(), rank.groups.end(), [](const inspect::Group& group) {
    return group.begun != group.begun_before || group.done != group.done_before;
  });
}

// With these backends, waiting for a collective uses a whole CPU; with Gloo it uses none.
bool spins_while_waiting(const std::string& backend) {
  return backend.find("mpi") != std::string::npos || backend.find("nccl") != std::string::npos;
}

bool spins_in_collective(const inspect::RankView& rank) {
  return std::any_of(rank.groups.begin(), rank.groups.end(), [](const inspect::Group& group) {
    return group.begun > group.done && spins_while_waiting(group.backend);
  });
}

bool computes(const inspect::RankView& rank) {
  double cpu = 0;
  for (const inspect::Process& process : rank.processes) cpu += limited(process.cpu, 0, 1e6);
  return cpu >= kComputes;
}

bool reads_or_writes(const inspect::RankView& rank) {
  std::int64_t bytes = 0;
  for (const inspect::Process& process : rank.processes) {
    bytes += std::clamp<std::int64_t>(process.io_bytes, 0, kReadsOrWrites);
  }
  for (const inspect::Connection& connection : rank.connections) {
    bytes += std::clamp<std::int64_t>(connection.moved, 0, kReadsOrWrites);
  }
  return bytes >= kReadsOrWrites;
}

bool stands_still(const inspect::RankView& rank) {
  if (!rank.watched || rank.processes.empty() || advances(rank) || reads_or_writes(rank))
    return false;
  return !computes(rank) || spins_in_collective(rank);
}

}  // namespace

bool is_idle(const Scene& scene) {
  std::map<int, const inspect::RankView*> views;
  for (const auto& [name, host] : scene.hosts) {
    for (const inspect::RankView& rank : host.ranks) views.try_emplace(rank.rank, &rank);
  }
  bool any_runs = false;
  for (const RankState& rank : scene.ranks) {
    if (rank.life != RankState::Life::kRunning) continue;
    any_runs = true;
    const auto view = views.find(rank.rank);
    if (view == views.end() || !stands_still(*view->second)) return false;
  }
  return any_runs;
}

}  // namespace muster::why
