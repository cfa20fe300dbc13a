// The keeper: a small process beside muster that also holds the run's sessions. If muster is
// killed, the keeper ends the run in an orderly way. Otherwise it does nothing.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/host_system.hpp"
#include "base/error.hpp"
#include "sys/loop.hpp"

namespace muster::run {

class Keeper {
 public:
  // `descriptors` holds the input and the output of each session, in pairs.
  [[nodiscard]] Result<void> start(sys::Loop& loop, const std::string& run_id,
                                   const std::vector<int>& descriptors);
  // Tells the keeper about another process of the engine.
  void tell_engine(pid_t engine);
  // Call this when the run is over or another keeper takes over.
  void dismiss();

 private:
  std::shared_ptr<sys::Process> process_;
};

// Whether a keeper of that run is still working on this machine, or the engine's launcher still
// runs.
[[nodiscard]] bool is_being_ended(const std::string& run_id);

// The two ends of a session, as descriptors.
struct SessionEnds {
  int input = -1;
  int output = -1;
};

// The keeper's work: listens until muster ends, and then ends the run, unless muster has said that
// the run is over.
void keep(agent::HostSystem& system, const std::string& run_id, std::FILE* muster,
          std::span<const SessionEnds> sessions);

// Runs the keeper if the command line is `muster keeper`.
[[nodiscard]] std::optional<int> keeper_main(int argc, char** argv);

}  // namespace muster::run
