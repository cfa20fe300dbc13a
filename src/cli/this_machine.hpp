// Finds the entry in the list of hosts that is this machine.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/cluster_options.hpp"
#include "hosts/cluster.hpp"
#include "remote/ssh.hpp"

namespace muster::cli {

// What to do if the list contains a second name of this machine.
enum class NamedTwice { kRefused, kOverSsh };

// Marks this machine (hosts::Host::here) and returns its name in the list. Returns an empty name if
// it is not in the list, or if the cluster has a port or another user. Cost: one name resolution
// per full name that may be this machine's.
[[nodiscard]] Result<std::string> find_this_machine(hosts::Cluster& cluster, NamedTwice twice);

// The hosts of a command that always uses ssh, even inside an allocation or a pod.
struct SshHosts {
  std::vector<std::string> names;
  remote::SshOptions ssh;
};
[[nodiscard]] Result<SshHosts> find_ssh_hosts(const ClusterOptions& options);

}  // namespace muster::cli
