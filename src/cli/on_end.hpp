// `muster run --on-end COMMAND`: runs a command with the result of the run.
#pragma once

#include <string>

#include "base/error.hpp"
#include "run/ending.hpp"
#include "run/stage.hpp"

namespace muster::cli {

// Runs the shell command unless it is empty. Its standard input is the result of the run as JSON,
// and it may run for one minute. What it prints goes to standard error. Its failure is reported but
// does not change the result of the run.
void tell_end(const std::string& command, const run::Turn& turn, const Result<run::Ending>& end);

}  // namespace muster::cli
