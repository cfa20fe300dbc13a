// The hosts of a run over all its attempts: each is checked again, and bad ones are replaced.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/roster.hpp"
#include "run/stage.hpp"

namespace muster::run {

struct Gathered {
  Look look = {};                     // the last one
  std::vector<BadHost> missing = {};  // could not be replaced or left out
  double waited_s = 0;                // for them
  std::optional<int> signal = {};     // came while muster waited for them
};

class Members {
 public:
  // `spares`: a host expression. `lost_after_s` as Patience's.
  Members(Stage& stage, std::string spares, double lost_after_s);

  // Looks at all hosts. Where --spares or --min-nodes allow it, a host that does not answer or has
  // errors of its own is replaced by a spare or left out. From the second time on, muster waits for
  // a host that can be neither: it may be booting.
  [[nodiscard]] Result<Gathered> gather(const Turn& turn);

  // What is known to be bad before anybody was asked.
  void leave(std::span<const BadHost> bad);

  // Whether restarts are muster's to make; known after the first gather().
  [[nodiscard]] bool restartable() const { return roster_.has_value(); }
  [[nodiscard]] bool has_spares() const { return roster_ && roster_->has_spares(); }
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  [[nodiscard]] Result<void> read_spares();
  [[nodiscard]] Result<void> look(const Turn& turn, Gathered& gathered);
  void say_what_is_missing(const Gathered& gathered) const;

  Stage& stage_;
  std::string spares_text_;
  double patience_s_;  // for a host to boot
  std::vector<hosts::Host> spares_;
  std::optional<Roster> roster_;
  bool started_ = false;
};

}  // namespace muster::run
