// For programs whose files must not be left behind: Ctrl-C ends the programs, and the caller can
// then remove the files.
#pragma once

#include "sys/process.hpp"

namespace muster::sys {

// Like run_all, but SIGINT, SIGTERM and SIGHUP end the commands instead of this process, except
// those that this process ignores. `signal` receives the signal, else 0. Results of commands that
// were not started are meaningless.
[[nodiscard]] std::vector<Result<Ended>> run_until_signal(
    std::span<const Command> commands, std::size_t at_most, int& signal,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end = {});

}  // namespace muster::sys
