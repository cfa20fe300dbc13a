// Programs that write files which must not stay behind: Ctrl-C ends the programs first, then the
// caller removes the files.
#pragma once

#include "sys/process.hpp"

namespace muster::sys {

// As run_all, but SIGINT, SIGTERM and SIGHUP end the commands and not this process. `signal` is
// then the signal, else 0; results of commands that were not started mean nothing.
[[nodiscard]] std::vector<Result<Ended>> run_until_signal(
    std::span<const Command> commands, std::size_t at_most, int& signal,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end = {});

}  // namespace muster::sys
