#include "agent/placement.hpp"

#include "agent/placement_fields.hpp"
#include "base/json_fields.hpp"

namespace muster::agent {

std::string to_json(const Placement& placement) {
  return sorted_json_of_fields(placement);
}

std::optional<Placement> parse_placement(const std::string& json) {
  auto placement = parse_fields<Placement>(json, "this is not the placement of a host");
  if (!placement) return std::nullopt;
  return *std::move(placement);
}

}  // namespace muster::agent
