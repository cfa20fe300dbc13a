// The flags by which `check` and `run` are told the job.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "hosts/pod.hpp"
#include "layout/job.hpp"

namespace muster::cli {

struct JobOptions {
  ClusterOptions cluster;
  layout::Job job;                          // without program and environment
  std::vector<std::string> variables;       // -x: NAME or NAME=value
  std::optional<bool> sync = std::nullopt;  // --sync, --no-sync
  int answer_within_s = 15;                 // a host, without its activation
  bool module = false;                      // the program is a module of Python's
  bool no_python = false;                   // and never a script of its
  bool verbose = false;
  std::optional<int> node_rank = std::nullopt;   // --node-rank, which only a pod has
  std::optional<hosts::Pod> pod = std::nullopt;  // instead of what the environment tells of it
};

// Groups of flags in --help that other commands add to.
constexpr const char* kEngineGroup = "Engine";
constexpr const char* kBreaksGroup = "Time limits and restarts";

[[nodiscard]] std::span<const Row<JobOptions>> job_flags();  // without the cluster's
void add_job_options(CLI::App& command, JobOptions& options);

// Completes the job: the program, the variables to forward: those of -x, those of muster.yaml and
// those that are always passed.
[[nodiscard]] Result<layout::Job> read_job(const JobOptions& options, const Program& program);

// "NAME=value", for the environment of a process: the job's variables that ours does not have, or
// has with another value.
[[nodiscard]] std::vector<std::string> given_variables(const layout::Job& job);

}  // namespace muster::cli
