// Cut off: which ranks say that they ended because the connection to another rank broke. The rank
// that broke it is the cause, though on a busy host its end can be recorded later.
#pragma once

#include <set>
#include <string_view>

namespace muster::run {

// `errors`: the end of a rank's standard error. Pure.
[[nodiscard]] bool says_cut_off(std::string_view errors);

// `words`: the engine's own. Open MPI reports the errors of its ranks there. Pure.
[[nodiscard]] std::set<int> reported_cut_off(std::string_view words);

}  // namespace muster::run
