// From flags to Findings: what `check` and `run` have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checks/finding.hpp"
#include "cli/job_options.hpp"
#include "layout/layout.hpp"
#include "remote/transport.hpp"
#include "run/crew.hpp"
#include "sys/loop.hpp"

namespace muster::cli {

// Everything that is known before a Plan is made. The crew's sessions are still open.
struct Surveyed {
  layout::Job job;
  hosts::Cluster cluster;
  std::string allocation = {};  // number of the Slurm job that the hosts are of
  std::unique_ptr<sys::Loop> loop;
  std::unique_ptr<remote::Transport> transport;
  std::unique_ptr<run::Crew> crew;
  facts::Facts launcher;
  std::vector<facts::Survey> surveys;
  layout::Layout layout;
  std::vector<checks::Finding> findings;

  // In the reverse order of their making: a session's end may still call back.
  ~Surveyed();
  Surveyed() = default;
  Surveyed(Surveyed&&) = default;
  Surveyed& operator=(Surveyed&&) = delete;
};

// `run_id` empty: facts only. `compare_clocks` costs a round trip more.
[[nodiscard]] Result<std::unique_ptr<Surveyed>> survey(const JobOptions& options,
                                                       const Program& program,
                                                       const std::string& run_id,
                                                       bool compare_clocks);

}  // namespace muster::cli
