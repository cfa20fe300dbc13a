// How a whole run ended, with all its attempts, and whose exit code muster passes on.
#pragma once

#include <string>

namespace muster::run {

struct Ending {
  int code = 0;
  int rank = -1;          // the rank whose exit code it is; -1: it is muster's own
  std::string host = {};  // of that rank
  std::string text = {};  // what happened, for people; may be empty
  bool told = false;      // another process of muster's tells it
};

// "exit code 3 is that of rank 1 on n2"; empty if all went well.
[[nodiscard]] std::string whose_code(const Ending& ending);

// The content of the file of --status, once the run has begun and once it has ended.
[[nodiscard]] std::string began_json(const std::string& run_id);
[[nodiscard]] std::string to_json(const Ending& ending, const std::string& run_id);

}  // namespace muster::run
