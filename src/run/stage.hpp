// What the attempts of a run need from the world around them. The command gives the real one.
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

// One attempt of a run, as the outside world knows it.
struct Turn {
  std::string base;       // id of the run
  int number = 0;         // of the attempt
  int most = -1;          // restarts that muster may make; -1: they are not muster's to make
  std::string name = {};  // that --name gave the run

  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::vector<std::string> earlier() const;  // ids of the attempts before
};

// What was found when the hosts were looked at before an attempt.
struct Look {
  std::vector<BadHost> bad = {};    // do not answer, or have errors of their own
  bool has_errors = false;          // of hosts or of all of them, that --force does not pass over
  std::string first_error = {};     // where errors are there
  std::string findings = {};        // all of them, for people
  int refusal_code = kExitRefused;  // if errors keep the run from being started at all
  std::string understood = {};      // what will be started, for people
  std::vector<hosts::Host> members = {};  // that ranks are placed on, as many as they have slots
  bool ours_to_restart = true;            // else the engine or the platform does
  int min_nodes = 0;                      // 0: all members are needed
  int max_restarts = 0;
};

using Decide = std::function<Decision(const Record&, const Verdict&)>;

struct AttemptEnd {
  Verdict verdict;
  Decision decision;
  // What is to be said below the verdict of an attempt that ends the run.
  std::vector<std::string> ending = {};
};

// What is said of an attempt that ends the run, above `ending`.
[[nodiscard]] std::vector<std::string> heading_lines(const AttemptEnd& end);

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  // Looks at these hosts, or (null) at those that the user named. The sessions stay open.
  [[nodiscard]] virtual Result<Look> look(const Turn& turn,
                                          const std::vector<hosts::Host>* members) = 0;
  // Closes those sessions, if there are any, and gives up the connections to bad hosts.
  virtual void close(std::span<const BadHost> bad) = 0;
  // Everything but the start. An exit code: nothing is to be started.
  [[nodiscard]] virtual Result<std::optional<int>> prepare(const Turn& turn, bool is_first) = 0;
  // Until nothing of the attempt is left; then `decide` is asked.
  [[nodiscard]] virtual Result<AttemptEnd> supervise(const Turn& turn, const Patience& patience,
                                                     const Decide& decide) = 0;
  // The signal that came meanwhile and ended the pause; nothing: the time is over.
  [[nodiscard]] virtual std::optional<int> pause(double seconds) = 0;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
};

}  // namespace muster::run
