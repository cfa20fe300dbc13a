// The table of `muster runs`. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/past_run.hpp"

namespace muster::cli {

// A header, and one line per run. `runs` must begin with the newest. Lines have at most `width`
// characters (0: no limit); other columns are shortened or omitted to make room for WHY.
[[nodiscard]] std::string run_table(std::span<const run::PastRun> runs, double now_s,
                                    std::size_t width);

// Returns "12s", "3m20s", "2h05m" or "4d03h". Times below ten seconds have one decimal.
[[nodiscard]] std::string time_text(double seconds);

// Returns "ok" or "failed (3)".
[[nodiscard]] std::string state_text(const run::PastRun& run);

}  // namespace muster::cli
