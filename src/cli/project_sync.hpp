// `--sync`: copies a job's project directory to its hosts before they are surveyed.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "hosts/cluster.hpp"
#include "remote/transport.hpp"

namespace muster::cli {

using HostErrors = std::map<std::string, Error>;

// What to report to the user.
struct SyncReport {
  bool all_hosts = true;  // report hosts without changes too
  bool quiet = false;
};

// Sends changed files to the same path on all hosts except this machine. Deletes nothing there, and
// keeps files that are newer there. Returns the errors of single hosts; fails if nothing can be
// sent at all.
[[nodiscard]] Result<HostErrors> sync_project(const std::string& folder,
                                              const hosts::Cluster& cluster,
                                              remote::Transport& transport,
                                              const SyncReport& report);

}  // namespace muster::cli
