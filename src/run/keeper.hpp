// The keeper: a small process beside muster that holds the far ends of a run's sessions. When
// muster is killed it ends the run in order; otherwise it does nothing.
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

// A session's way there and back.
struct SessionEnds {
  int input = -1;
  int output = -1;
};

// What a keeper does: listens to muster, until that ends, and then ends the run unless muster said
// that it is over.
void keep(agent::HostSystem& system, const std::string& run_id, std::FILE* muster,
          std::span<const SessionEnds> sessions);

// Takes over when the command line is `muster keeper`.
[[nodiscard]] std::optional<int> keeper_main(int argc, char** argv);

}  // namespace muster::run
