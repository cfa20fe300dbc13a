// What to tell people and programs of the outcomes of one command on many hosts. All pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// What the whole should end with. `failure` is set when a host was not reached (before all else),
// something failed on our side or a deadline passed; otherwise `code` is the highest of the hosts'.
struct Conclusion {
  std::optional<ErrorCode> failure;
  int code = 0;
};
[[nodiscard]] Conclusion conclusion(std::span<const Outcome> outcomes);

// The hosts that did not end well, folded by equal reason, with hints; empty when all is well.
[[nodiscard]] std::string failures_text(std::span<const Outcome> outcomes);

// One JSON object on one line. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_json(const Outcome& outcome);

// The line for a host's login shell. One word is a line already and is given as it is; of several
// each is quoted, and a shell stays above the program to tell of the signal that ended it, which
// ssh does not.
[[nodiscard]] std::string command_line(std::span<const std::string> words);

}  // namespace muster::remote
