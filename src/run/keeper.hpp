// The keeper: a small process beside muster that holds the far ends of a run's sessions. When
// muster is killed it ends the run in order; otherwise it does nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "sys/loop.hpp"

namespace muster::run {

class Keeper {
 public:
  // `descriptors`: pairs of a session's input and output.
  [[nodiscard]] Result<void> start(sys::Loop& loop, const std::string& run_id,
                                   const std::vector<int>& descriptors);
  // One process of the engine's more.
  void tell_engine(pid_t engine);
  // The run is over, or another keeper takes its place.
  void dismiss();

 private:
  std::shared_ptr<sys::Process> process_;
};

// Whether a keeper of that run is still at work here, or the engine's launcher is.
[[nodiscard]] bool is_being_ended(const std::string& run_id);

// Takes over when the command line is `muster keeper`.
[[nodiscard]] std::optional<int> keeper_main(int argc, char** argv);

}  // namespace muster::run
