// The collectives of a rank, as a flight recorder in its process tells them: PyTorch's own, or that
// of muster's backends, which writes the same format.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inspect/inspection.hpp"

namespace muster::inspect {

constexpr std::size_t kMaxRecordBytes = std::size_t{8} << 20;

// One Group per process group and backend. A group that is only listed has no backend and has begun
// nothing. Point-to-point operations have numbers of their own and are left out.
[[nodiscard]] Result<std::vector<Group>> parse_flight_record(std::string_view text,
                                                             double unix_time);

// The records of one process together. What only one of them knows of a group, such as its members,
// all groups with its name get.
[[nodiscard]] std::vector<Group> merge_groups(std::span<const std::vector<Group>> records);

// Fills begun_before and done_before; a group that is new since then had begun nothing.
void set_before(std::vector<Group>& groups, std::span<const Group> before);

// A collective is under way. Looks for the word only, so that many samples cost little.
[[nodiscard]] bool tells_unfinished(std::string_view record);

}  // namespace muster::inspect
