// `muster run --on-end COMMAND`: a command that learns how the run ended.
#pragma once

#include <string>

#include "base/error.hpp"
#include "run/ending.hpp"
#include "run/stage.hpp"

namespace muster::cli {

// Runs the shell command, unless it is empty, with the result of the run as JSON on its standard
// input. It has a minute; what it prints goes to standard error. Its failure is reported and
// changes nothing.
void tell_end(const std::string& command, const run::Turn& turn, const Result<run::Ending>& end);

}  // namespace muster::cli
