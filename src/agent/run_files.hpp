// The files of a rank in the folder of its run.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/assignment.hpp"
#include "agent/handout.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// A file that is in the run's folder once the warden has begun to end the run.
constexpr const char* kOverMark = "over";

// A file that the warden writes when the launcher has finished looking at the ranks after one of
// them ended with a time-out.
constexpr const char* kSeenMark = "seen";

// The file in which the warden writes how many seconds the run continues without a launcher.
constexpr const char* kOrphanAfterFile = "orphan_after_s";

constexpr int kUsageCode = 2;  // exit code for wrong usage

class RunFiles {
 public:
  // Creates BASE/runs/ID with mode 0700, or verifies that it is ours. With an empty id there is no
  // folder and no file.
  [[nodiscard]] static Result<RunFiles> open(const std::string& run_id);

  // muster's name for this host, or else the first part of the host's own name.
  [[nodiscard]] std::string host() const;
  // Asks the warden for the job's environment.
  [[nodiscard]] Result<HandedOut> handout() const;
  // What was decided for this host, as the agent wrote it (see assignment.hpp); nothing if unknown.
  [[nodiscard]] std::optional<Assignment> placement() const;
  // Whether the warden has begun to end the run, so that nothing more may start. If a rank first
  // records its start and then calls this, either the warden sees the rank or the rank sees the
  // mark.
  [[nodiscard]] bool over() const;
  // Whether the launcher has finished looking at what the ranks do.
  [[nodiscard]] bool seen() const;
  // How long a rank continues without a warden.
  [[nodiscard]] std::chrono::milliseconds orphan_after() const;
  // Returns the path of the file with the rank's start, by which an inspection or a later clean-up
  // finds the rank.
  [[nodiscard]] std::string record(int rank) const;
  // The run's folder; empty if there is no run.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

 private:
  std::string run_id_;
  std::string folder_;
};

}  // namespace muster::agent
