// The words of `muster rank`, which engines start and people do not.
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

// How often the job was started before, and how often it may be started again in all.
struct Restarts {
  int made = 0;
  int most = 0;
};

struct RankOptions {
  std::string run_id = {};                // empty: no folder, no record
  std::string folder = {};                // to start in, where it is there; else the home folder
  std::string subnet = {};                // "198.18.0.0/16"; empty: leave the interfaces alone
  std::optional<Master> master = {};      // where rank 0 listens
  std::optional<Restarts> restarts = {};  // where muster makes them, and not the engine
  bool label = true;                      // "[host:rank] " before each line
  bool only_first_reads = false;          // ranks but the first have no standard input
  bool by_hand = false;                   // there is no warden; print lines to stdout and stderr
  bool confine_store = false;             // PyTorch's store listens at the master address only
  std::vector<std::string> program = {};  // with its arguments; never empty
};

// `words` are those after "rank".
[[nodiscard]] Result<RankOptions> parse_rank_options(const std::vector<std::string>& words);

}  // namespace muster::agent
