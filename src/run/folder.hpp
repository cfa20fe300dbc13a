// Where runs are kept on the launcher: one folder each, below the user's state folder.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::run {

[[nodiscard]] std::string runs_folder();

// "20261115-040812-3219a": sorts by time. The last five digits are the millisecond and ten random
// bits; should two runs still get the same id, write_owner refuses the second.
[[nodiscard]] std::string new_run_id();
// When the id was made, in seconds since 1970; 0: it does not say.
[[nodiscard]] double time_of_id(const std::string& id);

// Made with mode 0700: what programs print may be secret.
[[nodiscard]] Result<std::string> make_run_folder(const std::string& id);

// The id of a run's attempt: "ID", then "ID.1", "ID.2", ...; and back.
[[nodiscard]] std::string attempt_id(const std::string& base, int number);
struct AttemptName {
  std::string base;
  int number = 0;
};
[[nodiscard]] AttemptName parse_attempt(const std::string& id);

// The number of the latest attempt that has a folder; -1: there is none. Attempts have no gaps, so
// this looks at them and not at all runs.
[[nodiscard]] int latest_attempt(const std::string& base);
// Likewise, of those whose ranks were started: the checks may have refused a later one.
[[nodiscard]] int latest_started(const std::string& base);

// All runs, oldest first; attempts of one run in their order.
[[nodiscard]] std::vector<std::string> list_runs();

// The folder of a run named by its id, the name that --name gave it (the newest such run), the
// beginning of its id, or "last" (its latest attempt then). An Error says which there are.
[[nodiscard]] Result<std::string> find_run(const std::string& name);
// Why --name cannot give a run this name; empty: it can.
[[nodiscard]] std::string wrong_name(const std::string& name);
// The folder of the run's latest attempt that was started, unless `folder` is that of a restart.
[[nodiscard]] std::string latest_of(const std::string& folder);
// The id of the attempt with that folder.
[[nodiscard]] std::string id_of(const std::string& folder);

// Which process looks after the run: written once, at its start. Refused if another run did that.
[[nodiscard]] Result<void> write_owner(const std::string& folder);
// Whether the attempt runs, as far as this machine can know: one that another machine started may.
[[nodiscard]] bool may_be_running(const std::string& folder);
// Its pid while it is alive, else 0.
[[nodiscard]] int living_owner(const std::string& folder);
// The machine that the owner is on, where that is not this one (a home that several share).
[[nodiscard]] std::string owner_elsewhere(const std::string& folder);

}  // namespace muster::run
