// From flags to findings: the common part of `check` and `run`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "checks/finding.hpp"
#include "cli/job_options.hpp"
#include "layout/layout.hpp"
#include "remote/ssh.hpp"
#include "remote/transport.hpp"
#include "run/crew.hpp"
#include "sys/loop.hpp"

namespace muster::cli {

constexpr std::chrono::seconds kActivationTakes{60};  // at most; then facts::gather gives up

// Everything that is known before a Plan is made. The crew's sessions with the hosts are still
// open.
struct Surveyed {
  layout::Job job;
  hosts::Cluster cluster;
  std::string allocation = {};  // number of the Slurm job that has the hosts
  std::unique_ptr<sys::Loop> loop;
  std::unique_ptr<remote::Transport> transport;
  std::chrono::seconds ssh_patience = remote::kSshPatience;
  std::unique_ptr<run::Crew> crew;
  facts::Facts launcher;
  std::vector<facts::Survey> surveys;
  layout::Layout layout;
  std::vector<checks::Finding> findings;
  // One-line summaries for people; empty if there is nothing to report.
  std::string compared = {};         // which software of the ranks was compared
  std::string compared_states = {};  // which hosts were compared with their saved states

  // Closes all sessions and waits for their end, so that later sessions do not find them still open
  // on the hosts. For callers that continue after the survey.
  void close();

  // Destroys the crew, the transport and the loop first and in this order, because a session that
  // ends may still call back.
  ~Surveyed();
  Surveyed() = default;
  Surveyed(Surveyed&&) = default;
  Surveyed& operator=(Surveyed&&) = delete;
};

struct SurveyFor {
  std::string run_id = {};                // empty: only facts are needed
  std::vector<std::string> earlier = {};  // ids of earlier attempts, which hosts must end first
  int attempt = 0;
  bool compare_clocks = false;  // costs one more round trip
  bool quiet = false;           // do not report what --sync has sent
  // How long connections over ssh must survive that a host does not answer.
  std::chrono::seconds patience = remote::kSshPatience;
};
[[nodiscard]] Result<std::unique_ptr<Surveyed>> survey(const JobOptions& options,
                                                       const Program& program,
                                                       const SurveyFor& purpose);

// The exit code if findings keep the job from starting.
[[nodiscard]] int refusal_code(const Surveyed& all);

}  // namespace muster::cli
