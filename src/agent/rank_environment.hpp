// The environment that a rank's program gets. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rank_options.hpp"
#include "rankenv/rank.hpp"

namespace muster::agent {

using rankenv::Environment;

// Parses entries "NAME=value", each ended by NUL. Leaves out entries without a name.
[[nodiscard]] Environment parse_environment(std::string_view text);

// Returns the activated environment, overridden by what the engine set for this process: the
// engine's own variables, the devices that Slurm gave this task, and the variables named in
// MUSTER_FORWARD. Variables named in MUSTER_DEFAULT are added only where the activation does not
// set them.
[[nodiscard]] Environment lay_over(Environment activated, const Environment& inherited,
                                   const rankenv::Rank& rank);

struct Wishes {
  rankenv::Rank rank;
  std::string run_id = {};
  std::optional<Master> master = std::nullopt;
  std::optional<Restarts> restarts = std::nullopt;
  std::map<std::string, std::string> network = {};
  bool join_store = false;     // another process serves PyTorch's store to all ranks
  std::string recorders = {};  // where the rank reports its collectives; empty: nowhere
  // Set PYTHONUNBUFFERED, because standard output is not a terminal and Python would buffer lines.
  bool unbuffered = false;
};

struct Composed {
  Environment environment;
  // Variables that already had another value and kept it, such as "MASTER_PORT=1234 (not 29500)".
  std::vector<std::string> kept = {};
};

// Adds the wishes to `base`. Rank numbers in `base` are replaced, because only the engine knows
// them; other variables that the user has set stay as they are.
[[nodiscard]] Composed compose(Environment base, const Wishes& wishes);

}  // namespace muster::agent
