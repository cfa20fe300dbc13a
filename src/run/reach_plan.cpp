#include <algorithm>
#include <map>
#include <unordered_map>

#include "engines/kind.hpp"
#include "run/reach_test.hpp"

namespace muster::run {
namespace {

// Removes stations that share an address, because it is unknown which of them answers there.
void drop_shared_addresses(std::vector<Station>& stations) {
  std::map<std::string, int> count;
  for (const Station& station : stations) ++count[station.address];
  std::erase_if(stations, [&](const Station& one) { return count[one.address] > 1; });
}

bool takes_part(const layout::Placement& placement, const facts::Survey& survey) {
  return survey.facts && !placement.address.empty();
}

}  // namespace

ReachPlan plan_reach(const layout::Layout& layout, const hosts::Cluster& cluster,
                     std::span<const facts::Survey> surveys) {
  std::unordered_map<std::string_view, std::size_t> members;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) members.emplace(cluster.hosts[i].name, i);
  const bool needs_launcher =
      engines::find(layout.engine.kind).is_mpi && !layout.launcher_address.empty();
  ReachPlan plan;
  const layout::Placement* first = nullptr;  // the host with rank 0
  for (const layout::Placement& placement : layout.placements) {
    const auto member = members.find(placement.host);
    if (member == members.end() || !takes_part(placement, surveys[member->second])) continue;
    const bool is_first = placement.first_rank == 0 && placement.ranks > 0;
    if (is_first) first = &placement;
    plan.stations.insert(is_first ? plan.stations.begin() : plan.stations.end(),
                         {.member = member->second,
                          .address = placement.address,
                          .calls_launcher = needs_launcher && !placement.here});
  }
  drop_shared_addresses(plan.stations);
  const bool is_there =
      first != nullptr && !plan.stations.empty() && plan.stations.front().address == first->address;
  if (is_there) plan.master = {.address = layout.master_address, .port = layout.master_port};
  const bool some_call = std::any_of(plan.stations.begin(), plan.stations.end(),
                                     [](const Station& one) { return one.calls_launcher; });
  if (some_call) plan.launcher = layout.launcher_address;
  if (plan.stations.size() < 2 && !some_call) plan.stations.clear();
  return plan;
}

}  // namespace muster::run
