// What the last output of a rank says about its end. A rank that lost its connection to another
// rank, or waited for another until a time-out, is not the cause. The other rank is, even if it
// ends later or has to be killed.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::run {

// Whether the rank reports a lost connection, or a time-out. `errors` is the end of its standard
// error. Pure.
[[nodiscard]] bool says_cut_off(std::string_view errors);
[[nodiscard]] bool says_timed_out(std::string_view errors);
// Whether a rank that prints this line is about to be ended by MPI.
[[nodiscard]] bool is_last_line(std::string_view line);
// The exit code of a rank that MPI ended because of MPI_Abort or an error: the rank's own, or the
// code that MPI printed if the rank was killed before it could exit. Nothing if MPI did not end the
// rank.
[[nodiscard]] std::optional<int> abort_code(int wait_status, std::string_view errors);

// The ranks that the engine reports as cut off. `words` are the engine's own output lines. Pure.
[[nodiscard]] std::set<int> reported_cut_off(std::span<const std::string> words);
// What the engine reports about this rank's error, without ruler lines and empty lines.
[[nodiscard]] std::vector<std::string> reported_error(std::span<const std::string> words, int rank);

}  // namespace muster::run
