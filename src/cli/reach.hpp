// By which way the hosts are reached: those of the Slurm allocation that we are in, the pod that we
// are in, or any over ssh.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/job_options.hpp"
#include "hosts/cluster.hpp"
#include "hosts/pod.hpp"
#include "remote/transport.hpp"

namespace muster::cli {

struct Reach {
  hosts::Cluster cluster;
  std::unique_ptr<remote::Transport> transport;
  std::optional<hosts::Pod> pod = std::nullopt;  // the one that we are in
  std::string allocation = {};                   // number of the Slurm job that the hosts are of
  std::string engine = {};                       // the only one that suits this way; empty: any
  std::string why = {};                          // and why, for people
};

// Whether the engine that the user asked for starts ranks only inside an allocation.
[[nodiscard]] bool needs_allocation(const layout::Job& job);

// Whether Slurm has given us hosts.
[[nodiscard]] Result<bool> in_allocation();

// Whether the ranks may use all of their hosts. False inside a Slurm job and in a pod, whichever
// way the hosts are reached: what a job may use of a host differs from one job to the next.
[[nodiscard]] bool has_whole_hosts();

// Refuses --save without whole hosts.
[[nodiscard]] Result<void> check_may_save();

// The pod that we are in, if the user named no other hosts and no engine that pods cannot have.
[[nodiscard]] Result<std::optional<hosts::Pod>> find_pod(const JobOptions& options);

// Refuses an --engine that contradicts where we are.
[[nodiscard]] Result<Reach> find_reach(const JobOptions& options);

}  // namespace muster::cli
