// Output of ranks that another host may turn out to have. It is held back until that is settled.
// Before we confirm output, a host seldom sends more than its spool has room for. If it sends more
// than we hold, the rest is dropped, and missed at the end. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "agent/protocol.hpp"

namespace muster::run {

class DoubtedOutput {
 public:
  // `ranks`: how many the host may have.
  void hold(std::size_t host, const agent::Piece& piece, std::size_t ranks);
  // The host sends again what was not confirmed.
  void forget(std::size_t host) { hosts_.erase(host); }
  // Everything, each piece with the number of its host. Nothing is held after that.
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
