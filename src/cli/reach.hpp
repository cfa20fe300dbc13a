// How the hosts are reached: by steps of the Slurm allocation in which muster runs, locally in a
// pod, or over ssh.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/job_options.hpp"
#include "hosts/cluster.hpp"
#include "hosts/pod.hpp"
#include "remote/ssh.hpp"
#include "remote/transport.hpp"

namespace muster::cli {

struct Reach {
  hosts::Cluster cluster;
  std::unique_ptr<remote::Transport> transport;
  std::optional<hosts::Pod> pod = std::nullopt;  // the one in which muster runs
  std::string allocation = {};                   // number of the Slurm job that has the hosts
  // The only engine that works with this transport; empty: all engines work.
  std::string engine = {};
  std::string why = {};  // why only this engine works, for people
};

// Whether the engine that the user asked for starts ranks only inside an allocation.
[[nodiscard]] bool needs_allocation(const layout::Job& job);

// Whether muster runs inside a Slurm allocation.
[[nodiscard]] Result<bool> in_allocation();

// Whether the ranks may use all of each host. False inside a Slurm job and in a pod, even if the
// hosts are reached over ssh, because the share of a host that a job may use varies between jobs.
[[nodiscard]] bool has_whole_hosts();

// Fails if --save cannot work because ranks may use only parts of hosts.
[[nodiscard]] Result<void> check_may_save();

// The pod in which muster runs. Nothing if the user named other hosts, or an engine that does not
// work in pods.
[[nodiscard]] Result<std::optional<hosts::Pod>> find_pod(const JobOptions& options);

// Finds out how to reach the hosts. Fails if --engine contradicts the place in which muster runs.
// `patience` is how long connections over ssh must survive that a host does not answer.
[[nodiscard]] Result<Reach> find_reach(const JobOptions& options,
                                       std::chrono::seconds patience = remote::kSshPatience);

}  // namespace muster::cli
