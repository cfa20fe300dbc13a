// Plan: the exact commands of an engine. A pure function makes it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "layout/layout.hpp"

namespace muster::launch {

struct PlanFile {
  std::string path;
  std::string content;
  unsigned mode = 0600;

  friend bool operator==(const PlanFile&, const PlanFile&) = default;
};

// A process of the engine that starts on this machine.
struct Command {
  std::vector<std::string> argv;
  std::string host = {};  // the only host on which it starts ranks; empty: on all
  bool input = true;      // whether it reads our standard input

  friend bool operator==(const Command&, const Command&) = default;
};

struct Plan {
  std::vector<Command> commands;      // mpirun and srun: one; torchrun: one per host
  std::vector<std::string> env = {};  // "NAME=value", in addition to our own environment
  // Names of variables that the engine does not pass to the hosts. muster sends their values (from
  // the job, our environment or `env`) to the hosts' agents.
  std::vector<std::string> carried = {};
  std::vector<PlanFile> files = {};  // must exist before the start
  std::vector<std::string> notes =
      {};  // one sentence for each setting of the user that replaces muster's
  // Whether SIGTERM to the engine kills the ranks at once. If so, muster ends the ranks first when
  // they need time to end.
  bool term_kills_ranks = false;
  // Whether the user's own flags or variables may give a host more ranks than the Layout does.
  bool counts_may_differ = false;
};

// What a Plan needs in addition to the Layout.
struct Means {
  std::string shim;  // path of the copied muster binary, the same on every host
  std::string run_id;
  std::string folder;  // the run's folder on this machine
  // The ssh command for the engine. It uses muster's open connections.
  std::vector<std::string> ssh;
  std::string allocation = {};          // number of the Slurm job in which muster runs
  std::set<std::string> user_env = {};  // names of all variables in the user's environment
  int restarts_made = 0;                // how often muster has restarted the job
  // How often muster may restart it; -1: muster never does, but the engine may.
  int restarts_most = -1;
  bool as_root = false;
  bool by_hand = false;  // the user will paste the command, so there is no warden
};

[[nodiscard]] Result<Plan> plan(const layout::Job& job, const layout::Layout& layout,
                                const Means& means);

// Returns the JSON form, without term_kills_ranks and counts_may_differ, which only the running
// muster needs.
[[nodiscard]] std::string to_json(const Plan& plan);  // one line
[[nodiscard]] Result<Plan> parse_plan(const std::string& json);
[[nodiscard]] nlohmann::ordered_json plan_schema();
// Returns a command line to paste, with variables in front. Several commands run at the same time.
[[nodiscard]] std::string to_command_line(const Plan& plan);

}  // namespace muster::launch
