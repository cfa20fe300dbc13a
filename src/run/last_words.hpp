// What the last output of a rank says about its end. A rank that was cut off when the connection to
// another broke, or that waited for another until a timeout, is not the cause: the other rank is,
// even if it ends later or has to be killed.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::run {

// `errors`: the end of a rank's standard error. Pure.
[[nodiscard]] bool says_cut_off(std::string_view errors);
[[nodiscard]] bool says_timed_out(std::string_view errors);
// Whether a rank that prints this line is about to be ended by MPI.
[[nodiscard]] bool is_last_line(std::string_view line);
// The exit code of a rank that MPI ended for MPI_Abort or an error: its own, or if the rank was
// killed in the middle of that, the one that MPI printed.
[[nodiscard]] std::optional<int> abort_code(int wait_status, std::string_view errors);

// `words`: the engine's own lines, in which some engines report the errors of their ranks. Pure.
[[nodiscard]] std::set<int> reported_cut_off(std::span<const std::string> words);
// What the engine reports about an error of this rank, without rulers and empty lines.
[[nodiscard]] std::vector<std::string> reported_error(std::span<const std::string> words, int rank);

}  // namespace muster::run
