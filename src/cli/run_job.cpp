#include "cli/run_job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/endpoint.hpp"
#include "base/printable.hpp"
#include "cli/attempt.hpp"
#include "cli/config_file.hpp"
#include "cli/kept_command.hpp"
#include "cli/on_end.hpp"
#include "cli/run_status.hpp"
#include "cli/survey.hpp"
#include "hosts/fold.hpp"
#include "layout/rails.hpp"
#include "run/attempts.hpp"
#include "run/folder.hpp"
#include "run/pause.hpp"
#include "run/record.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

// Returns " (TCP, although n[1-2] have RDMA)"; empty if no RDMA is left unused.
std::string unused_rdma(const Surveyed& all, const std::vector<std::string>& names) {
  if (!all.layout.rdma_given_up) return "";
  const std::set<std::string_view> members(names.begin(), names.end());
  std::vector<std::string> having;
  for (const facts::Survey& survey : all.surveys) {
    if (!survey.facts || !members.contains(survey.host)) continue;
    if (layout::has_active_port(*survey.facts)) having.push_back(survey.host);
  }
  return fmt::format(" (TCP, although {} {} RDMA)", hosts::fold(having),
                     having.size() == 1 ? "has" : "have");
}

// One line that says how muster understood the command, so that a user notices a mistake early.
std::string understood(const Surveyed& all, const std::string& run_id) {
  std::vector<std::string> names;
  for (const auto& placement : all.layout.placements) names.push_back(placement.host);
  const std::string place =
      all.job.pods > 0 ? fmt::format("in {} pod{} (this is pod {}, {})", all.job.pods,
                                     all.job.pods == 1 ? "" : "s", all.job.pod, hosts::fold(names))
                       : "on " + hosts::fold(names);
  return fmt::format(
      "muster: run {}: {} rank{} {}, {}, network {}{}, master {}\n", run_id, all.layout.ranks,
      all.layout.ranks == 1 ? "" : "s", place, printable(engine_name(all.layout.engine)),
      all.layout.subnet.empty() ? "not known" : all.layout.subnet, unused_rdma(all, names),
      endpoint_text(all.layout.master_address, all.layout.master_port));
}

// The hosts that a spare host could replace. An error that all answering hosts have is not the
// fault of a single host.
std::vector<run::BadHost> find_bad(const Surveyed& all, bool force) {
  const auto answered = static_cast<std::size_t>(
      std::count_if(all.surveys.begin(), all.surveys.end(),
                    [](const facts::Survey& survey) { return survey.facts.has_value(); }));
  std::vector<run::BadHost> bad;
  std::set<std::string_view> known;
  const auto add = [&](const std::string& host, const std::string& why) {
    if (known.insert(host).second) bad.push_back({.host = host, .why = why});
  };
  for (const facts::Survey& survey : all.surveys) {
    if (!survey.facts) add(survey.host, survey.facts.error().what);
  }
  for (const checks::Finding& finding : all.findings) {
    const bool error = finding.severity == checks::Severity::kError && !force;
    if (!error || finding.hosts.size() >= answered) continue;
    for (const std::string& host : finding.hosts) add(host, finding.what);
  }
  return bad;
}

std::string first_error(const Surveyed& all) {
  for (const checks::Finding& finding : all.findings) {
    if (finding.severity == checks::Severity::kError) return finding.what;
  }
  return {};
}

// Leaves out notes, which need no action, unless `with_notes` is set because the run is rejected or
// verbose.
std::string findings_text(std::vector<checks::Finding> findings, bool with_notes) {
  if (!with_notes) {
    std::erase_if(findings, [](const checks::Finding& finding) {
      return finding.severity == checks::Severity::kNote;
    });
  }
  return checks::to_text(findings, sys::shows_colours(STDERR_FILENO));
}

// The hosts with ranks. For a host that did not answer, the number of ranks may depend on its
// unknown hardware; then assumes as many ranks as the largest number on another host.
std::vector<hosts::Host> members_of(const Surveyed& all) {
  int most = 1;
  for (const layout::Placement& placement : all.layout.placements) {
    most = std::max(most, placement.ranks);
  }
  std::set<std::string_view> known;
  for (const facts::Survey& survey : all.surveys) {
    if (survey.facts) known.insert(survey.host);
  }
  std::vector<hosts::Host> members;
  for (const layout::Placement& placement : all.layout.placements) {
    const bool guessed = !known.contains(placement.host) && !all.job.ranks_by.empty();
    members.push_back({.name = placement.host, .slots = guessed ? most : placement.ranks});
  }
  return members;
}

// Names variables of the ranks' libraries that the user may expect on other hosts but that are not
// passed. Returns nothing inside a Slurm allocation, because Slurm passes all variables.
std::string left_variables_text(const Surveyed& all) {
  const auto& placements = all.layout.placements;
  const bool elsewhere =
      std::any_of(placements.begin(), placements.end(), [](const auto& one) { return !one.here; });
  if (all.job.env_left.empty() || !elsewhere || all.job.pods > 0 || !all.allocation.empty()) {
    return "";
  }
  return fmt::format("muster: not passed to the other hosts: {}; to pass a variable, add: -x {}\n",
                     fmt::join(all.job.env_left, ", "), all.job.env_left.front());
}

// Names the variables of muster.yaml that the shown command needs. Their values may be secret and
// are not shown.
std::string needed_variables_text(const ClusterOptions& options) {
  std::set<std::string> names;
  for (const hosts::Variable& variable : options.file->variables) {
    if (variable.value) names.insert(variable.name);
  }
  if (names.empty()) return "";
  return fmt::format("muster: before you run this command, export what {} sets: {}\n",
                     options.file->path, fmt::join(names, ", "));
}

// Prints the command so that users can paste it, including the values that -x gave. Tells the hosts
// to keep the files that the rank processes need.
void show_command(Surveyed& all, const RunOptions& options, launch::Plan plan) {
  sys::write_err(needed_variables_text(options.job.cluster));
  for (const std::string& given : options.job.variables) {
    if (given.find('=') != std::string::npos) plan.env.push_back(given);
  }
  sys::print_out("{}\n", options.json ? to_json(plan) : to_command_line(plan));
  for (std::size_t i = 0; i < all.cluster.hosts.size(); ++i) {
    all.crew->send(i, {.kind = agent::Order::Kind::kBye, .keep = true});
  }
}

class RunStage : public run::Stage {
 public:
  RunStage(const RunOptions& options, const launch::Words& words, const Program& program)
      : options_(options), words_(words), program_(program) {}

  Result<run::Look> look(const run::Turn& turn, const std::vector<hosts::Host>* members) override;
  void close(std::span<const run::BadHost> bad) override;
  Result<std::optional<int>> prepare(const run::Turn& turn, bool is_first) override;
  Result<run::AttemptEnd> supervise(const run::Turn& turn, const run::Patience& patience,
                                    const run::Decide& decide) override {
    using Engine = run::Audience::Engine;
    const Engine unless_verbose = options_.quiet ? Engine::kNever : Engine::kIfTheRunFails;
    return cli::supervise(*all_, patience, plan_, turn, folder_, decide,
                          {.show = options_.show,
                           .engine = options_.job.verbose ? Engine::kAsItComes : unless_verbose},
                          options_.log_limit);
  }
  std::optional<int> pause(double seconds) override { return run::pause(seconds); }
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::now();
  }

 private:
  [[nodiscard]] JobOptions job_on(const std::vector<hosts::Host>* members) const;

  const RunOptions& options_;
  const launch::Words& words_;
  const Program& program_;
  std::unique_ptr<Surveyed> all_;
  std::string folder_;
  launch::Plan plan_;
};

// The job on these hosts. Each has as many ranks as in the first attempt, or as the host that it
// replaces.
JobOptions RunStage::job_on(const std::vector<hosts::Host>* members) const {
  JobOptions job = options_.job;
  if (members == nullptr) return job;
  job.cluster.members = *members;
  job.job.ranks_per_host = 0;
  job.job.ranks_by.clear();
  job.job.ranks = 0;
  job.job.nodes = 0;
  job.job.min_nodes = 0;
  return job;
}

// ssh must not give up a connection as long as the hosts wait for muster: when its own ssh ends,
// Open MPI's mpirun ends the job.
std::chrono::seconds patience_of(const run::Patience& patience) {
  const std::chrono::seconds orphan_after(static_cast<long>(std::ceil(patience.orphan_after_s)));
  return std::max(orphan_after, remote::kSshPatience);
}

Result<run::Look> RunStage::look(const run::Turn& turn, const std::vector<hosts::Host>* members) {
  MUSTER_TRY(all_, survey(job_on(members), program_,
                          {.run_id = turn.id(),
                           .earlier = turn.earlier(),
                           .attempt = turn.number,
                           .quiet = options_.quiet,
                           .patience = patience_of(options_.patience)}));
  const bool has_errors = checks::has_errors(all_->findings) && !options_.force;
  return run::Look{.bad = find_bad(*all_, options_.force),
                   .has_errors = has_errors,
                   .first_error = first_error(*all_),
                   .findings = findings_text(all_->findings, has_errors || options_.job.verbose),
                   .refusal_code = refusal_code(*all_),
                   .understood = has_errors ? "" : understood(*all_, turn.id()),
                   .members = members_of(*all_),
                   .ours_to_restart = all_->job.pods == 0 && all_->layout.min_hosts == 0,
                   .min_nodes = all_->job.min_nodes,
                   .max_restarts = all_->job.max_restarts};
}

// Forgets the connections to bad hosts first, because the next attempt would reuse them.
void RunStage::close(std::span<const run::BadHost> bad) {
  if (!all_) return;
  for (const run::BadHost& one : bad) all_->transport->forget(one.host);
  all_->close();
  all_ = nullptr;
}

Result<std::optional<int>> RunStage::prepare(const run::Turn& turn, bool is_first) {
  if (is_first && options_.job.verbose) {
    for (const std::string& why : all_->layout.why) sys::print_err("muster: {}\n", printable(why));
  }
  MUSTER_TRY(folder_, run::make_run_folder(turn.id()));
  // If the run was detached, detach() has already written the owner.
  const bool is_ours = run::living_owner(folder_) == ::getpid();
  if (!is_ours) MUSTER_CHECK(run::write_owner(folder_));
  if (turn.number == 0) {
    MUSTER_CHECK(keep_command(folder_, words_, program_, options_.job.cluster.file->path));
  }
  MUSTER_TRY(plan_, cli::prepare(*all_, turn, folder_, options_.dry_run));
  for (const std::string& note : plan_.notes) {
    if (!options_.quiet && is_first) sys::print_err("muster: {}\n", note);
  }
  if (!options_.quiet && is_first) sys::write_err(left_variables_text(*all_));
  tell_placements(*all_, plan_);
  if (!options_.dry_run) return std::optional<int>();
  show_command(*all_, options_, plan_);
  return std::optional<int>(0);
}

// The record of the last attempt announces another attempt. If this process ends before that, the
// ending must be stored separately.
void keep_end_between_attempts(const run::Turn& first, run::Ending ending) {
  const int latest = run::latest_started(first.base);
  if (latest < first.number) return;  // no attempt was started
  const std::string folder = run::runs_folder() + "/" + run::attempt_id(first.base, latest);
  const auto record = sys::read_file(folder + "/record.json");
  const auto summary = run::parse_summary(record ? *record : "");
  if (!summary || summary->started_again.empty()) return;
  ending.ended_s = sys::unix_time();
  const auto kept = run::keep_ending(folder, ending);
  if (!kept) sys::print_err("muster: {}\n", to_text(kept.error()));
}

}  // namespace

Result<run::Ending> run_attempts(const RunOptions& options, const launch::Words& words,
                                 const Program& program, const run::Turn& turn) {
  RunStage stage(options, words, program);
  auto end = run::Attempts(stage,
                           {.patience = options.patience,
                            .spares = options.spares,
                            .longest_wait_s = options.back_off_s,
                            .quiet = options.quiet},
                           turn)
                 .run();
  keep_end_between_attempts(turn, ending_of(end));
  if (!options.dry_run) tell_end(options.on_end, turn, end);
  return end;
}

}  // namespace muster::cli
