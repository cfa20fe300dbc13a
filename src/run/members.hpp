// The hosts of a run across its attempts. Before each attempt all hosts are checked again, and bad
// ones are replaced.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/roster.hpp"
#include "run/stage.hpp"

namespace muster::run {

struct Gathered {
  Look look = {};                     // the latest check of the hosts
  std::vector<BadHost> missing = {};  // bad hosts that could not be replaced or left out
  double waited_s = 0;                // how long muster waited for them
  std::optional<int> signal = {};     // arrived during a check at a restart, or that wait
};

class Members {
 public:
  // `spares` is a host expression; for `lost_after_s` see Patience.
  Members(Stage& stage, std::string spares, double lost_after_s);

  // Checks all hosts. With --spares or --min-nodes, a host that does not answer or has errors of
  // its own is replaced by a spare or left out. If neither is possible at a restart, muster waits
  // for the host, which may be booting.
  [[nodiscard]] Result<Gathered> gather(const Turn& turn);

  // Replaces bad hosts with spares before the next gather(). Hosts for which there is no spare
  // stay, and so do all hosts if all are bad.
  void leave(std::span<const BadHost> bad);

  // Whether muster itself handles restarts. Known after the first gather().
  [[nodiscard]] bool restartable() const { return roster_.has_value(); }
  [[nodiscard]] bool has_spares() const { return roster_ && roster_->has_spares(); }
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  [[nodiscard]] Result<void> read_spares();
  [[nodiscard]] Result<void> look(const Turn& turn, bool first, Gathered& gathered);
  void say_what_is_missing(const Gathered& gathered) const;

  Stage& stage_;
  std::string spares_text_;
  double patience_s_;  // how long a host may take to boot
  std::vector<hosts::Host> spares_;
  std::optional<Roster> roster_;
  bool started_ = false;
};

}  // namespace muster::run
