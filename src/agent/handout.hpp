// Hands the job's environment to the engine and the ranks on a host. It may hold secrets, so the
// warden keeps it in memory and not in a file: nothing of it stays on the host, even if processes
// are killed. leave_in_files is the only exception.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "agent/rank_environment.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// Entries have the form "NAME=value".
struct Handout {
  // The job's variables that the engine does not pass on by itself.
  std::vector<std::string> variables = {};
  // The environment after activation; nothing if no activation was requested.
  std::optional<std::vector<std::string>> activated = {};
};

// The warden's side: answers the processes that ask for the environment.
class HandoutDesk {
 public:
  // Listens in the run's folder. `handout` is nothing if this warden replaces a killed one, because
  // the environment was lost with that one.
  [[nodiscard]] Result<void> open(const std::string& folder, const std::optional<Handout>& handout);

  [[nodiscard]] pollfd watched() const { return {listener_.get(), POLLIN, 0}; }
  // Answers every process that has asked.
  void serve() const;

 private:
  sys::Fd listener_;
  std::vector<sys::Fd> memories_;  // the job's variables, then the activated environment
};

struct HandedOut {
  Environment variables = {};
  std::optional<Environment> activated = {};
};

// Asks the warden of the run that has this folder. The warden may start later than this process, so
// this waits for it up to `patience`.
[[nodiscard]] Result<HandedOut> ask_for_handout(const std::string& folder,
                                                std::chrono::milliseconds patience);

// Leaves the environment in files of mode 0600 in the run's folder, for a run that the user starts
// by hand and that has no warden.
[[nodiscard]] Result<void> leave_in_files(const std::string& folder, const Handout& handout);

}  // namespace muster::agent
