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

// Entries "NAME=value", each ended by NUL; what has no name is left out.
[[nodiscard]] Environment parse_environment(std::string_view text);

// The activated environment with what the engine set for this very process laid over it: the
// engine's own variables, what Slurm gives a task of the devices, and those named in
// MUSTER_FORWARD. Those named in MUSTER_DEFAULT count where activation says nothing.
[[nodiscard]] Environment lay_over(Environment activated, const Environment& inherited,
                                   const rankenv::Rank& rank);

struct Wishes {
  rankenv::Rank rank;
  std::string run_id = {};
  std::optional<Master> master = std::nullopt;
  std::optional<Restarts> restarts = std::nullopt;
  std::map<std::string, std::string> network = {};
  bool join_store = false;     // another process serves PyTorch's store, also to rank 0
  std::string recorders = {};  // where the rank tells of its collectives; empty: nowhere
  bool unbuffered = false;     // standard output is no terminal: Python would hold lines back
};

struct Composed {
  Environment environment;
  // "MASTER_PORT=1234 (not 29500)": what somebody had set otherwise, and which was left so.
  std::vector<std::string> kept = {};
};

// `base` with the wishes. Who a rank is, is the engine's to say; everything else is the user's.
[[nodiscard]] Composed compose(Environment base, const Wishes& wishes);

}  // namespace muster::agent
