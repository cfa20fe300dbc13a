// Finds the host in the list that is the machine muster runs on.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/cluster_options.hpp"
#include "hosts/cluster.hpp"
#include "remote/ssh.hpp"

namespace muster::cli {

// What to do with a second name of this machine in the list.
enum class NamedTwice { kRefused, kOverSsh };

// Marks this machine (hosts::Host::here) and returns its name in the list. Empty if it is not in
// the list, or if the list asks for another user or port.
// Cost: one resolver lookup for each full name that may be this machine's.
[[nodiscard]] Result<std::string> find_this_machine(hosts::Cluster& cluster, NamedTwice twice);

// The hosts of a command that reaches them over ssh, wherever muster runs.
struct SshHosts {
  std::vector<std::string> names;
  remote::SshOptions ssh;
};
[[nodiscard]] Result<SshHosts> find_ssh_hosts(const ClusterOptions& options);

}  // namespace muster::cli
