// The arguments of `muster rank`, which engines start and people do not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

struct Master {
  std::string address;
  std::string port;
};

// How often the job has been restarted, and how often it may be restarted in total.
struct Restarts {
  int made = 0;
  int most = 0;
};

struct RankOptions {
  std::string run_id = {};                // empty: no folder and no files for this run
  std::string folder = {};                // working directory; if missing, the home folder
  std::string subnet = {};                // "198.18.0.0/16"; empty: do not set interfaces
  std::optional<Master> master = {};      // where rank 0 listens
  std::optional<Restarts> restarts = {};  // set if muster, not the engine, restarts the job
  bool label = true;                      // print "[host:rank] " before each line
  bool only_first_reads = false;          // only rank 0 gets standard input
  bool by_hand = false;                   // no warden: print to stdout and stderr
  bool confine_store = false;             // PyTorch's store listens only at the master address
  std::vector<std::string> program = {};  // with its arguments; never empty
};

// `words` are the arguments after "rank".
[[nodiscard]] Result<RankOptions> parse_rank_options(const std::vector<std::string>& words);

}  // namespace muster::agent
