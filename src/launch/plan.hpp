// Plan: the exact commands of an engine, in its own words. Made by a pure function.
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

// One process of the engine's that is started here.
struct Command {
  std::vector<std::string> argv;
  std::string host = {};  // the only one that it starts ranks on; empty: it starts all of them
  bool input = true;      // reads our standard input

  friend bool operator==(const Command&, const Command&) = default;
};

struct Plan {
  std::vector<Command> commands;      // mpirun and srun: one; torchrun: one a host
  std::vector<std::string> env = {};  // "NAME=value", on top of our own environment
  // Names of variables that the engine does not bring to the hosts: muster hands their values (of
  // the job, our environment and `env`) to the hosts' agents.
  std::vector<std::string> carried = {};
  std::vector<PlanFile> files = {};  // to be there before
  std::vector<std::string> notes =
      {};  // settings of the user's that replace ours, one sentence each
  // SIGTERM to the engine kills the ranks at once: where they are to be given time to end, they are
  // ended first.
  bool term_kills_ranks = false;
  // The user's own flags or variables may give a host more ranks than the Layout does.
  bool counts_may_differ = false;
};

// What a Plan needs beyond the Layout.
struct Means {
  std::string shim;  // path of the pushed muster binary, the same on every host
  std::string run_id;
  std::string folder;                   // the run's folder here, for files
  std::vector<std::string> ssh;         // the engine's ssh: rides on the connections that are open
  std::string allocation = {};          // number of the Slurm job that we are in
  std::set<std::string> user_env = {};  // names of all variables in the user's environment
  int restarts_made = 0;                // by muster
  int restarts_most = -1;               // likewise; -1: muster makes none, the engine may
  bool as_root = false;
  bool by_hand = false;  // the user will paste the command; there will be no warden
};

[[nodiscard]] Result<Plan> plan(const layout::Job& job, const layout::Layout& layout,
                                const Means& means);

// Without term_kills_ranks and counts_may_differ, which only matter to the running muster.
[[nodiscard]] std::string to_json(const Plan& plan);  // one line
[[nodiscard]] Result<Plan> parse_plan(const std::string& json);
[[nodiscard]] nlohmann::ordered_json plan_schema();
// A command line to paste; variables in front. Several commands run side by side.
[[nodiscard]] std::string to_command_line(const Plan& plan);

}  // namespace muster::launch
