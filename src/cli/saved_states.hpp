// The saved states of hosts, one file per host in the user's state folder.
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

// Reads the states of those hosts that have one. If a file cannot be used, `problem` says why.
// Cost: one small file per host.
[[nodiscard]] std::vector<facts::SavedState> read_saved_states(
    const std::vector<std::string>& hosts);

// The hosts that answered, by whether their state may be saved.
struct SaveChoice {
  std::vector<std::string> wanted = {};
  std::vector<std::string> with_errors = {};
  std::vector<std::string> unexamined = {};  // not checked, because they get no ranks
};

// An error that names no host applies to all hosts. With `force`, errors are ignored.
[[nodiscard]] SaveChoice choose_to_save(std::span<const facts::Survey> surveys,
                                        const layout::Layout& layout,
                                        std::span<const checks::Finding> findings, bool force);

struct SaveResult {
  std::vector<std::string> saved;
  std::vector<std::pair<std::string, Error>> failed;  // hosts whose files did not change, and why
};

// Turns the saved state of a host into the new one. Without a saved state, `state` contains only
// the name.
using UpdateState = std::function<Result<void>(facts::SavedState& state)>;

// Reads, updates and writes the states while it locks out other muster processes. Never replaces a
// file that it cannot read. Fails if the folder cannot be used, or if another process keeps it
// locked for longer than `patience`. Cost: waits for the disk twice per host.
[[nodiscard]] Result<SaveResult> update_saved_states(
    const std::vector<std::string>& hosts, const UpdateState& update,
    std::chrono::milliseconds patience = std::chrono::seconds(30));

// Prints to stderr which hosts were not saved and why. Returns an Error if there is such a host.
[[nodiscard]] Result<void> report_not_saved(const SaveResult& result);

}  // namespace muster::cli
