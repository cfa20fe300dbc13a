// The interface between the attempts of a run and the outside world. src/cli/run_job.cpp has the
// real implementation.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "hosts/host.hpp"
#include "run/restart.hpp"
#include "run/supervisor.hpp"

namespace muster::run {

// Which attempt of which run it is, and how many restarts there may be.
struct Turn {
  std::string base;       // id of the run
  int number = 0;         // of the attempt; 0: the first
  int most = -1;          // restarts that muster may make; -1: somebody else restarts the run
  std::string name = {};  // the run's --name

  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::vector<std::string> earlier() const;  // ids of the earlier attempts
};

// The result of checking the hosts before an attempt.
struct Look {
  std::vector<BadHost> bad = {};    // they do not answer, or have errors of their own
  bool has_errors = false;          // some error remains that --force does not ignore
  std::string first_error = {};     // a summary of the first error, if there is one
  std::string findings = {};        // all findings, for people
  int refusal_code = kExitRefused;  // the exit code if errors prevent the start
  std::string understood = {};      // description of the job to be started, for people
  // The hosts that ranks are placed on, with as many slots as ranks.
  std::vector<hosts::Host> members = {};
  bool ours_to_restart = true;  // otherwise the engine or the platform restarts the run
  int min_nodes = 0;            // 0: all members are needed
  int max_restarts = 0;
};

using Decide = std::function<Decision(const Record&, const Verdict&)>;

struct AttemptEnd {
  Verdict verdict;
  Decision decision;
  // What to print below the verdict of an attempt that ends the run.
  std::vector<std::string> ending = {};
};

// What to print about an attempt that ends the run, above `ending`.
[[nodiscard]] std::vector<std::string> heading_lines(const AttemptEnd& end);

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  // Checks these hosts; null means those that the user named. The sessions stay open.
  [[nodiscard]] virtual Result<Look> look(const Turn& turn,
                                          const std::vector<hosts::Host>* members) = 0;
  // Closes those sessions, if any, and forgets the connections to bad hosts.
  virtual void close(std::span<const BadHost> bad) = 0;
  // Prepares everything but the start. Returns an exit code if nothing is to be started.
  [[nodiscard]] virtual Result<std::optional<int>> prepare(const Turn& turn, bool is_first) = 0;
  // Runs until nothing of the attempt is left, then calls `decide`.
  [[nodiscard]] virtual Result<AttemptEnd> supervise(const Turn& turn, const Patience& patience,
                                                     const Decide& decide) = 0;
  // Waits. Returns the signal that ended the wait early; nothing if the time passed.
  [[nodiscard]] virtual std::optional<int> pause(double seconds) = 0;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
};

}  // namespace muster::run
