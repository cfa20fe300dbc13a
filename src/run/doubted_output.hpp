// Holds back a host's output for ranks that may turn out to run on another host, until that is
// settled. Held output is not confirmed to the host, which seldom sends more unconfirmed output
// than its spool holds. If it sends more than fits here, the rest is dropped and will be missing
// from the run's output. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "agent/protocol.hpp"

namespace muster::run {

class DoubtedOutput {
 public:
  // `ranks` is the number of ranks that the host may have.
  void hold(std::size_t host, const agent::Piece& piece, std::size_t ranks);
  // Discards the output of a host that rejoins, because that host sends all unconfirmed output
  // again.
  void forget(std::size_t host) { hosts_.erase(host); }
  // Returns all pieces, each with the number of its host, and empties this object.
  [[nodiscard]] std::vector<std::pair<std::size_t, agent::Piece>> take();

 private:
  struct Held {
    std::vector<agent::Piece> pieces = {};
    std::size_t bytes = 0;
    bool full = false;
  };
  std::map<std::size_t, Held> hosts_;
};

}  // namespace muster::run
