#include "agent/assignment.hpp"

#include "agent/assignment_fields.hpp"
#include "base/json_fields.hpp"

namespace muster::agent {

std::string to_json(const Assignment& placement) {
  return sorted_json_of_fields(placement);
}

std::optional<Assignment> parse_placement(const std::string& json) {
  auto placement =
      parse_fields<Assignment>(json, "this is not the placement of a host", kExactTexts);
  if (!placement) return std::nullopt;
  return *std::move(placement);
}

}  // namespace muster::agent
