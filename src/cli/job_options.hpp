// The flags with which users describe the job to `check` and `run`.
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
  int answer_within_s = 15;                 // time limit per host, not counting its activation
  bool module = false;                      // the program is a Python module
  bool no_python = false;                   // do not start .py files with python3
  bool verbose = false;
  std::optional<int> node_rank = std::nullopt;   // --node-rank, which is only valid in a pod
  std::optional<hosts::Pod> pod = std::nullopt;  // replaces what the environment says about the pod
};

// Groups of flags in --help to which other commands add flags.
constexpr const char* kEngineGroup = "Engine";
constexpr const char* kBreaksGroup = "Time limits and restarts";

[[nodiscard]] std::span<const Row<JobOptions>> job_flags();  // without those that name hosts
void add_job_options(CLI::App& command, JobOptions& options);

// Completes the job with its program and its variables: those of -x, those of muster.yaml and those
// that muster always passes.
[[nodiscard]] Result<layout::Job> read_job(const JobOptions& options, const Program& program);

// "NAME=value" for the job's variables that our environment lacks or has with another value.
[[nodiscard]] std::vector<std::string> given_variables(const layout::Job& job);

}  // namespace muster::cli
