// How a whole run ended, with all its attempts, and whose exit code muster passes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/record.hpp"

namespace muster::run {

struct Ending {
  int code = 0;
  int rank = -1;                  // the rank whose exit code it is; -1: it is muster's own
  std::string host = {};          // of that rank
  std::string text = {};          // what happened, for people; may be empty
  bool told = false;              // another process of muster's tells it
  bool stopped = false;           // by a signal to muster
  double ended_s = 0;             // since 1970; 0: when the last attempt ended
  bool whose_is_unknown = false;  // an older muster recorded it
};

// Of a run whose last attempt ended in this way.
[[nodiscard]] Ending ending_of(const Verdict& verdict);

// "exit code 3 is that of rank 1 on n2"; empty if all went well or if nobody knows.
[[nodiscard]] std::string whose_code(const Ending& ending);

// The same as muster prints it, as the last lines of all.
[[nodiscard]] std::vector<std::string> whose_code_lines(const Ending& ending);

// The content of the file of --status, once the run has begun and once it has ended.
[[nodiscard]] std::string began_json(const std::string& run_id);
[[nodiscard]] std::string to_json(const Ending& ending, const std::string& run_id);

// In the folder of the last attempt. A run that was to be started again, but was stopped first,
// ended otherwise than the record of that attempt says.
[[nodiscard]] Result<void> keep_ending(const std::string& folder, const Ending& ending);
[[nodiscard]] std::optional<Ending> kept_ending(const std::string& folder);

// As kept, else from the record of the attempt.
[[nodiscard]] Result<Ending> recorded_ending(const std::string& folder);

}  // namespace muster::run
