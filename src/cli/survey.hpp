// From flags to Findings: what `check` and `run` have in common.
#pragma once

#include <chrono>
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

constexpr std::chrono::seconds kActivationTakes{60};  // at most; facts::gather gives up then

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
  // Lines for people; empty: nothing to say.
  std::string compared = {};         // what was compared of the ranks' software
  std::string compared_states = {};  // which hosts were compared with their saved states

  // Where muster goes on without it: sessions are closed, and waited for, so that nothing of them
  // meets the next ones on the hosts.
  void close();

  // In the reverse order of their making: a session's end may still call back.
  ~Surveyed();
  Surveyed() = default;
  Surveyed(Surveyed&&) = default;
  Surveyed& operator=(Surveyed&&) = delete;
};

struct SurveyFor {
  std::string run_id = {};                // empty: facts only
  std::vector<std::string> earlier = {};  // ids of the attempts before, which the hosts end first
  int attempt = 0;
  bool compare_clocks = false;  // costs a round trip more
  bool quiet = false;           // do not say what --sync has sent
};
[[nodiscard]] Result<std::unique_ptr<Surveyed>> survey(const JobOptions& options,
                                                       const Program& program,
                                                       const SurveyFor& purpose);

// The exit code where findings keep the job from being started.
[[nodiscard]] int refusal_code(const Surveyed& all);

}  // namespace muster::cli
