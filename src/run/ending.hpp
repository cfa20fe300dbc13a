// How a whole run, with all its attempts, ended, and whose exit code muster passes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/record.hpp"

namespace muster::run {

struct Ending {
  int code = 0;
  int rank = -1;                  // the rank whose exit code it is; -1: the code is muster's own
  std::string host = {};          // of that rank
  std::string text = {};          // what happened, for people; may be empty
  bool told = false;              // another muster process reports it to the user
  bool stopped = false;           // by a signal to muster
  double ended_s = 0;             // Unix time; 0: when the last attempt ended
  bool whose_is_unknown = false;  // an older muster recorded the code, but not whose it is
};

// The ending of a run whose last attempt has this verdict.
[[nodiscard]] Ending ending_of(const Verdict& verdict);

// Returns "exit code 3 is that of rank 1 on n2"; empty on success or if unknown.
[[nodiscard]] std::string whose_code(const Ending& ending);

// The same as whose_code, wrapped into lines. They are the very last ones that muster prints.
[[nodiscard]] std::vector<std::string> whose_code_lines(const Ending& ending);

// The contents of the --status file, at the start of the run and at its end.
[[nodiscard]] std::string began_json(const std::string& run_id);
[[nodiscard]] std::string to_json(const Ending& ending, const std::string& run_id);

// Stores the ending in the folder of the last attempt. Needed if the run was stopped before a
// planned restart: the attempt's record does not say so.
[[nodiscard]] Result<void> keep_ending(const std::string& folder, const Ending& ending);
[[nodiscard]] std::optional<Ending> kept_ending(const std::string& folder);

// The stored ending, else one made from the attempt's record.
[[nodiscard]] Result<Ending> recorded_ending(const std::string& folder);

}  // namespace muster::run
