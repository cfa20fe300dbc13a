// The saved states of hosts: one file per host, in the user's state folder.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checks/finding.hpp"
#include "facts/facts.hpp"
#include "facts/saved_state.hpp"
#include "layout/layout.hpp"

namespace muster::cli {

[[nodiscard]] std::string saved_states_folder();

// Whether the state of any host has been saved.
[[nodiscard]] bool has_saved_states();

// Of those hosts that have one. Where a file cannot be used, `problem` says why. Cost: a small file
// for each host.
[[nodiscard]] std::vector<facts::SavedState> read_saved_states(
    const std::vector<std::string>& hosts);

// Hosts that answered.
struct SaveChoice {
  std::vector<std::string> wanted = {};
  std::vector<std::string> with_errors = {};
  std::vector<std::string> unexamined = {};  // the checks look only at hosts that get ranks
};

// An error that names no host is about all of them. `force`: errors do not count.
[[nodiscard]] SaveChoice choose_to_save(std::span<const facts::Survey> surveys,
                                        const layout::Layout& layout,
                                        std::span<const checks::Finding> findings, bool force);

struct SaveResult {
  std::vector<std::string> saved;
  std::vector<std::pair<std::string, Error>> failed;  // hosts whose files are as before, and why
};

// Makes the new state of a host from the saved one, which has only its name if there is no file.
using UpdateState = std::function<Result<void>(facts::SavedState& state)>;

// Reads, updates and writes the states while no other muster process can. Never replaces a file
// that cannot be read. Fails if the folder cannot be used, or if another process keeps it locked
// for longer than `patience`. Cost: for each host, waits twice for the disk.
[[nodiscard]] Result<SaveResult> update_saved_states(
    const std::vector<std::string>& hosts, const UpdateState& update,
    std::chrono::milliseconds patience = std::chrono::seconds(30));

// Says on stderr which hosts were not saved and why, and returns an Error if there is one.
[[nodiscard]] Result<void> report_not_saved(const SaveResult& result);

}  // namespace muster::cli
