// Which ranks say that they ended because of another: cut off, because the connection to it broke,
// or because they waited for it until a time-out. That other rank is the cause, though it may end
// later, or not by itself.
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
