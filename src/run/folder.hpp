// The launcher's run folders: one per attempt, below the user's state folder.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::run {

[[nodiscard]] std::string runs_folder();

// Returns an id such as "20261115-040812-3219a". Ids sort by time. The last five digits hold the
// millisecond and ten random bits. If two runs still get the same id, write_owner rejects the
// second.
[[nodiscard]] std::string new_run_id();
// When the id was made, in Unix time; 0 if it does not contain a time.
[[nodiscard]] double time_of_id(const std::string& id);

// Creates the folder with mode 0700, because programs may print secrets.
[[nodiscard]] Result<std::string> make_run_folder(const std::string& id);

// The id of a run's attempt: "ID" for the first, then "ID.1", "ID.2", ... parse_attempt reverses
// it.
[[nodiscard]] std::string attempt_id(const std::string& base, int number);
struct AttemptName {
  std::string base;
  int number = 0;
};
[[nodiscard]] AttemptName parse_attempt(const std::string& id);

// The number of the latest attempt that has a folder; -1 if there is none. Attempts are numbered
// without gaps, so it need not read the list of all runs.
[[nodiscard]] int latest_attempt(const std::string& base);
// The number of the latest attempt whose ranks were started; -1 if there is none. The checks may
// have rejected a later attempt.
[[nodiscard]] int latest_started(const std::string& base);

// The ids of all attempts of all runs: the oldest run first, and the attempts of each run in order.
[[nodiscard]] std::vector<std::string> list_runs();

// The folder of the run that `name` means: a run id, the beginning of one, or a run's --name (the
// newest run that has it). "last" is the latest attempt whose ranks were started. The Error says
// how to list the existing runs.
[[nodiscard]] Result<std::string> find_run(const std::string& name);
// Why a run cannot have this --name; empty if it can.
[[nodiscard]] std::string wrong_name(const std::string& name);
// The folder of the latest attempt whose ranks were started. Returns `folder` itself if it already
// belongs to a restart.
[[nodiscard]] std::string latest_of(const std::string& folder);
// The id of the attempt with that folder.
[[nodiscard]] std::string id_of(const std::string& folder);

// Records which process supervises the run. Called once, at its start. Fails if another run with
// the same id did so before.
[[nodiscard]] Result<void> write_owner(const std::string& folder);
// Whether the attempt may be running. For an attempt started on another machine this is uncertain.
[[nodiscard]] bool may_be_running(const std::string& folder);
// The pid of the supervising process if it is alive, else 0.
[[nodiscard]] int living_owner(const std::string& folder);
// The machine of the supervising process, if it is another one, which shares the home folder; empty
// if it is this one.
[[nodiscard]] std::string owner_elsewhere(const std::string& folder);

// For an attempt whose supervising process is gone and has left no record: what happened to that
// process, such as "muster was killed", and what the hosts do without it.
[[nodiscard]] std::string how_muster_left(const std::string& folder);
[[nodiscard]] std::string what_hosts_do_alone(const std::string& folder);

}  // namespace muster::run
