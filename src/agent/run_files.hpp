// A rank's files in the folder of its run.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/assignment.hpp"
#include "agent/handout.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// In the run's folder once its warden ends it.
constexpr const char* kOverMark = "over";

// Likewise once the launcher has seen what the ranks do while one of them ended with a time-out.
constexpr const char* kSeenMark = "seen";

// For how many seconds the run goes on while nobody watches it, as its warden was told.
constexpr const char* kOrphanAfterFile = "orphan_after_s";

constexpr int kUsageCode = 2;  // exit code of muster's own processes on a host

class RunFiles {
 public:
  // Makes BASE/runs/ID, mode 0700, or verifies that it is ours. An empty id: no folder, no files.
  [[nodiscard]] static Result<RunFiles> open(const std::string& run_id);

  // The name that muster calls this host by; else the first part of the host's own.
  [[nodiscard]] std::string host() const;
  // The job's environment, from the warden.
  [[nodiscard]] Result<HandedOut> handout() const;
  // What was decided for this host, as the agent wrote it (see assignment.hpp); nothing: it is not
  // known.
  [[nodiscard]] std::optional<Assignment> placement() const;
  // The warden has begun to end the run: nothing more may start. A rank that was recorded before
  // this is asked is seen by the warden; any other sees this.
  [[nodiscard]] bool over() const;
  // Nobody will look any more at what the ranks do.
  [[nodiscard]] bool seen() const;
  // How long a rank goes on without a warden.
  [[nodiscard]] std::chrono::milliseconds orphan_after() const;
  // The file with the rank's start, for a clean-up after muster was killed.
  [[nodiscard]] std::string record(int rank) const;
  // The run's folder; empty if there is no run.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

 private:
  std::string run_id_;
  std::string folder_;
};

}  // namespace muster::agent
