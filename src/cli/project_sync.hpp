// `--sync`: a job's project folder is brought to its hosts before they are looked at.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "hosts/cluster.hpp"
#include "remote/transport.hpp"

namespace muster::cli {

using HostErrors = std::map<std::string, Error>;

// What of it people are told.
struct SyncReport {
  bool all_hosts = true;  // also those that had everything already
  bool quiet = false;
};

// Sends what changed in the folder to the same path on all hosts but this machine; nothing is
// deleted there, and files that are newer there stay. Returns why hosts could not be served; fails
// if nothing can be sent at all.
[[nodiscard]] Result<HostErrors> sync_project(const std::string& folder,
                                              const hosts::Cluster& cluster,
                                              remote::Transport& transport,
                                              const SyncReport& report);

}  // namespace muster::cli
