#include "why/idle.hpp"

#include <algorithm>

namespace muster::why {
namespace {

constexpr double kComputes = 0.05;              // of a processor
constexpr std::int64_t kReadsOrWrites = 65536;  // bytes; a heart-beat is less

bool advances(const inspect::RankView& rank) {
  return std::any_of(rank.groups.begin(), rank.groups.end(), [](const inspect::Group& group) {
    return group.begun != group.begun_before || group.done != group.done_before;
  });
}

bool waits_in_collective(const inspect::RankView& rank) {
  return std::any_of(rank.groups.begin(), rank.groups.end(),
                     [](const inspect::Group& group) { return group.begun > group.done; });
}

bool works(const inspect::RankView& rank) {
  double cpu = 0;
  std::int64_t bytes = 0;
  for (const inspect::Process& process : rank.processes) {
    cpu += process.cpu;
    bytes += std::max<std::int64_t>(process.io_bytes, 0);
  }
  return cpu >= kComputes || bytes >= kReadsOrWrites;
}

}  // namespace

bool is_idle(const Scene& scene) {
  bool seen = false;
  for (const auto& [name, host] : scene.hosts) {
    for (const inspect::RankView& rank : host.ranks) {
      if (rank.processes.empty()) continue;
      if (!rank.watched) return false;
      seen = true;
      if (advances(rank)) return false;
      if (!waits_in_collective(rank) && works(rank)) return false;
    }
  }
  return seen;
}

}  // namespace muster::why
