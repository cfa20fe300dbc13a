// Finds ranks whose output says that they ended because of another rank: they were cut off when the
// connection to it broke, or they waited for it until a timeout. That other rank is the cause, even
// if it ends later or has to be killed.
#pragma once

#include <set>
#include <string_view>

namespace muster::run {

// `errors`: the end of a rank's standard error. Pure.
[[nodiscard]] bool says_cut_off(std::string_view errors);
[[nodiscard]] bool says_timed_out(std::string_view errors);

// `words`: the engine's own. Open MPI reports the errors of its ranks there. Pure.
[[nodiscard]] std::set<int> reported_cut_off(std::string_view words);

}  // namespace muster::run
