// Hands a host's engine and ranks the environment of their job. It may hold secrets, so it is kept
// in memory and never in a file: whichever process is killed, nothing of it stays on the host.
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

// Entries "NAME=value".
struct Handout {
  std::vector<std::string> variables = {};  // of the job, that the engine does not bring
  // The environment after activation; nothing: no activation was asked for.
  std::optional<std::vector<std::string>> activated = {};
};

// The warden's side.
class HandoutDesk {
 public:
  // Listens in the run's folder. Nothing to hand out: an earlier warden was killed, and what it had
  // is gone.
  [[nodiscard]] Result<void> open(const std::string& folder, const std::optional<Handout>& handout);

  [[nodiscard]] pollfd watched() const { return {listener_.get(), POLLIN, 0}; }
  // Answers everybody who has asked.
  void serve() const;

 private:
  sys::Fd listener_;
  std::vector<sys::Fd> memories_;  // the variables, then the activated environment
};

struct HandedOut {
  Environment variables = {};
  std::optional<Environment> activated = {};
};

// Asks the warden of the run with this folder, which may start later than we do.
[[nodiscard]] Result<HandedOut> ask_for_handout(const std::string& folder,
                                                std::chrono::milliseconds patience);

// For a run that the user starts by hand, without a warden: files in its folder, mode 0600.
[[nodiscard]] Result<void> leave_in_files(const std::string& folder, const Handout& handout);

}  // namespace muster::agent
