// The hosts of a run over all its attempts: each is checked again, and bad ones are replaced.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/attempt.hpp"
#include "cli/run_options.hpp"
#include "cli/survey.hpp"
#include "run/roster.hpp"

namespace muster::cli {

struct Gathered {
  std::unique_ptr<Surveyed> all;           // as found last
  std::vector<run::BadHost> missing = {};  // could not be replaced or left out
  double waited_s = 0;                     // for them
  std::optional<int> signal = {};          // came while they were waited for
};

class Members {
 public:
  Members(const RunOptions& options, const Program& program);

  // Looks at all hosts. Where --spares or --min-nodes allow it, a host that does not answer or has
  // errors of its own is replaced by a spare or left out. From the second time on a host that can
  // be neither is waited for: it may be booting.
  [[nodiscard]] Result<Gathered> gather(const Turn& turn);

  // What is known to be bad before anybody was asked.
  void leave(std::span<const run::BadHost> bad);

  // Whether restarts are muster's to make; known after the first gather().
  [[nodiscard]] bool restartable() const { return roster_.has_value(); }
  [[nodiscard]] bool has_spares() const { return roster_ && roster_->has_spares(); }
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  void enlist(const Surveyed& all);
  [[nodiscard]] JobOptions job() const;

  const RunOptions& options_;
  const Program& program_;
  std::optional<run::Roster> roster_;
  std::vector<hosts::Host> spares_;
  bool started_ = false;
};

}  // namespace muster::cli
