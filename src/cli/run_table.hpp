// The table of `muster runs`. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/past_run.hpp"

namespace muster::cli {

// A header and one line per run, given newest first. Lines have at most `width` characters; other
// columns are shortened or left out so that WHY can be read. 0: there is no limit.
[[nodiscard]] std::string run_table(std::span<const run::PastRun> runs, double now_s,
                                    std::size_t width);

// "12s", "3m20s", "2h05m", "4d"; what is shorter than ten seconds has a decimal.
[[nodiscard]] std::string time_text(double seconds);

// "ok", "failed (3)"
[[nodiscard]] std::string state_text(const run::PastRun& run);

}  // namespace muster::cli
