// The same files on all hosts: rsync or tar, started for each of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "remote/project.hpp"
#include "remote/sync.hpp"
#include "remote/transport.hpp"
#include "sys/live_line.hpp"

namespace muster::remote {

struct Distribution {
  SyncOptions options;
  std::string this_machine = {};  // the host that is this machine, if one is
  std::chrono::seconds timeout = std::chrono::hours(24);
  std::size_t fan_out = 16;  // hosts at a time
  // What to send, asked for once if some host needs files; null: everything, for which this machine
  // and the hosts need rsync.
  std::function<Result<Project>()> list_project = nullptr;
  // Called when all hosts have said whether they share the folder.
  std::function<void()> on_prepared = nullptr;
  sys::OnProgress on_progress = nullptr;
};

// What rsync --version prints here; empty if it is not installed.
[[nodiscard]] std::string ask_rsync_here();

// Whether the host turned out to have the very folder that is here, so that nothing was sent.
[[nodiscard]] bool is_shared(const Outcome& outcome);

// One outcome per host, in the same order: how the copying ended, or why it was not started or
// failed. Fails if the paths cannot be listed or rsync is needed and missing here.
[[nodiscard]] Result<std::vector<Outcome>> distribute(const Distribution& what,
                                                      Transport& transport,
                                                      std::span<const std::string> hosts);

}  // namespace muster::remote
