// The collectives of a rank, as a flight recorder in its process reports them: PyTorch's own, or
// that of muster's backends, which uses the same format.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inspect/inspection.hpp"

namespace muster::inspect {

constexpr std::size_t kMaxRecordBytes = std::size_t{8} << 20;

// Returns one Group per process group and backend. A group without entries has no backend and no
// collectives. Leaves out point-to-point operations, which are numbered separately.
[[nodiscard]] Result<std::vector<Group>> parse_flight_record(std::string_view text,
                                                             double unix_time);

// Merges the records of one process. If only one of the groups of a name has a property, such as
// the members, all of them get it.
[[nodiscard]] std::vector<Group> merge_groups(std::span<const std::vector<Group>> records);

// Fills in begun_before and done_before. They stay 0 for a group that `before` does not contain.
void set_before(std::vector<Group>& groups, std::span<const Group> before);

// Whether a collective was running when the record was written. Only searches the text for a word,
// so that many samples are cheap.
[[nodiscard]] bool tells_unfinished(std::string_view record);

}  // namespace muster::inspect
