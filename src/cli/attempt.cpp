#include "cli/attempt.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "cli/detach.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_explanation.hpp"
#include "cli/run_values.hpp"
#include "engines/kind.hpp"
#include "remote/ssh.hpp"
#include "run/about.hpp"
#include "run/ask_desk.hpp"
#include "run/floods.hpp"
#include "run/folder.hpp"
#include "run/inspection.hpp"
#include "run/last_words.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/first_signal_ignored.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"
#include "sys/random.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kJobKeyBytes = 32;
constexpr int kSampleEveryMs = 50;

// Variables that the engine must not get from the user, because it uses them to find its own
// programs and files. muster sends their values directly to the ranks.
constexpr std::array<std::string_view, 2> kNotForEngine = {"PATH", "HOME"};

bool is_for_engine(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::find(kNotForEngine.begin(), kNotForEngine.end(), name) == kNotForEngine.end();
}

std::set<std::string> variable_names(const layout::Job& job) {
  std::set<std::string> names(job.env.begin(), job.env.end());
  for (const auto& [name, value] : own_environment()) names.insert(name);
  return names;
}

Result<launch::Plan> make_plan(const Surveyed& all, const Turn& turn, const std::string& folder,
                               bool by_hand) {
  return launch::plan(
      all.job, all.layout,
      {.shim = all.crew->binary(),
       .run_id = turn.id(),
       .folder = folder,
       .ssh = remote::ssh_words(
           {.user = all.cluster.user, .port = all.cluster.port, .patience = all.ssh_patience}),
       .allocation = all.allocation,
       .user_env = variable_names(all.job),
       .restarts_made = turn.number,
       .restarts_most = turn.most,
       .as_root = ::geteuid() == 0,
       .by_hand = by_hand});
}

run::Record new_record(const Surveyed& all, const Turn& turn) {
  run::Record record{
      .id = turn.id(),
      .name = turn.name,
      .attempt = turn.number,
      .restart_of = turn.number == 0 ? "" : run::attempt_id(turn.base, turn.number - 1),
      .command = sys::quote(all.job.program),
      .engine = engine_name(all.layout.engine),
      .started_s = sys::unix_time()};
  for (const layout::Placement& placement : all.layout.placements) {
    for (int i = 0; i < placement.ranks; ++i) {
      record.ranks.push_back({.rank = placement.first_rank + i, .host = placement.host});
    }
  }
  return record;
}

// "NAME=value" for the variables that muster itself sends to the hosts.
std::vector<std::string> carried_variables(const launch::Plan& plan, const layout::Job& job) {
  std::vector<std::string> variables = given_variables(job);
  std::erase_if(variables, is_for_engine);
  const auto& values = job.env_values;
  for (const std::string& name : plan.carried) {
    const auto ours = std::find_if(plan.env.begin(), plan.env.end(), [&](const std::string& one) {
      return one.starts_with(name + "=");
    });
    if (ours != plan.env.end()) {
      variables.push_back(*ours);
    } else if (const auto known = values.find(name); known != values.end()) {
      variables.push_back(name + "=" + known->second);
    } else if (const char* value = std::getenv(name.c_str())) {  // NOLINT(concurrency-mt-unsafe)
      variables.push_back(name + "=" + value);
    }
  }
  return variables;
}

// Returns a copy of the plan whose environment also has the values that the engine passes on to the
// ranks. The plan itself is stored and must not contain values.
launch::Plan with_values(launch::Plan plan, const layout::Job& job) {
  std::vector<std::string> env = given_variables(job);
  std::erase_if(env, [](const std::string& entry) { return !is_for_engine(entry); });
  env.insert(env.end(), plan.env.begin(), plan.env.end());
  plan.env = std::move(env);
  return plan;
}

// Removes the master address of an earlier job from our environment, which ranks on this machine
// inherit.
void forget_old_master(const Surveyed& all) {
  const auto& placements = all.layout.placements;
  const auto& handed = all.job.env;
  if (std::none_of(placements.begin(), placements.end(),
                   [](const auto& one) { return one.here; })) {
    return;
  }
  for (const char* const name : {"MASTER_ADDR", "MASTER_PORT"}) {
    const bool is_wanted = std::find(handed.begin(), handed.end(), name) != handed.end();
    if (!is_wanted) (void)::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  }
}

constexpr std::size_t kLines = 200;  // how many lines are searched for messages of MPI

// Reads the last output of the ranks that failed, to find those that failed because of another rank
// and those that MPI ended.
void read_last_words(run::Record& record, const run::Output& output) {
  const auto text = [](const std::vector<std::string>& lines) {
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  };
  run::mark_cut_off(record, run::reported_cut_off(output.last_of_engine(kLines)));
  for (run::RankRecord& rank : record.ranks) {
    if (!rank.end || rank.end->status == 0) continue;
    const std::string errors = text(output.last_errors(rank.rank, kLines));
    rank.cut_off = rank.cut_off || run::says_cut_off(errors);
    rank.timed_out = run::says_timed_out(errors);
    rank.silent = output.last_errors(rank.rank, 1).empty();
    if (!rank.cut_off) rank.aborted_with = run::abort_code(rank.end->status, errors);
  }
  record.held_back = output.held_ranks();
}

// Shows the held-back output of the rank that explains the failure. The held-back output of other
// ranks only reports that this rank is gone.
void show_telling_rank(const run::Record& record, const run::Verdict& verdict,
                       run::Output& output) {
  const int first = verdict.first_failed_rank;
  const auto its = std::find_if(record.ranks.begin(), record.ranks.end(),
                                [&](const run::RankRecord& rank) { return rank.rank == first; });
  const int teller = its == record.ranks.end() ? -1 : telling_rank(record, *its);
  output.show_held(teller < 0 ? first : teller);
}

// Reports ranks that wrote more output than has arrived here, except those on lost hosts.
void tell_missing_output(const run::Record& record, const run::Output& output) {
  const std::set<std::string_view> lost(record.lost_hosts.begin(), record.lost_hosts.end());
  for (const run::RankRecord& rank : record.ranks) {
    if (!rank.end || lost.contains(rank.host)) continue;
    agent::Taken come{.rank = rank.rank};
    for (const agent::Taken& one : output.taken(rank.host)) {
      if (one.rank == rank.rank) come = one;
    }
    const auto missing = [](std::uint64_t said, std::uint64_t got) {
      return said - std::min(said, got);
    };
    const std::uint64_t bytes =
        missing(rank.end->out_bytes, come.out) + missing(rank.end->err_bytes, come.err);
    if (bytes == 0) continue;
    sys::print_err("muster: {} bytes of output from rank {} are missing: {} did not send them\n",
                   bytes, rank.rank, rank.host);
  }
}

void keep_kernel_log(const run::Record& record, const std::string& folder) {
  std::string text;
  for (const auto& [host, lines] : record.kernel_log) {
    for (const std::string& line : lines) text += fmt::format("{} {}\n", host, line);
  }
  if (text.empty()) return;
  const auto kept = sys::write_file(fmt::format("{}/{}", folder, kKernelFile), text, 0600);
  if (!kept) sys::print_err("muster: {}\n", to_text(kept.error()));
}

// Stores the record and shows the remaining output. Reports what could not be stored.
void keep(const run::Record& record, const run::Verdict& verdict, run::Output& output,
          const std::string& folder) {
  keep_kernel_log(record, folder);
  const auto kept = sys::write_file(folder + "/record.json", to_json(record, verdict), 0600);
  output.show_rest();
  tell_missing_output(record, output);
  const std::string waits = run::waits_text(record);
  if (!waits.empty()) sys::print_err("muster: {}\n", waits);
  if (record.dropped_bytes > 0) {
    sys::print_err("muster: {}\n", run::dropped_text(record.dropped_bytes, "this run's output"));
  }
  if (!output.not_kept().empty()) {
    sys::print_err("muster: the output stored in {} is incomplete: {}\n", folder,
                   output.not_kept());
  }
  if (!kept) sys::print_err("muster: {}\n", to_text(kept.error()));
}

constexpr std::size_t kQuotedLines = 12;
constexpr std::ptrdiff_t kEngineLines = 6;
constexpr std::ptrdiff_t kReportLines = 24;  // Open MPI explains its errors in long reports

void quote_last_words(const run::Output& output, run::Verdict& verdict) {
  if (verdict.first_failed_rank >= 0) {
    verdict.quoted = output.last_errors(verdict.first_failed_rank, kQuotedLines);
    verdict.quoted_above = output.shown_last(verdict.first_failed_rank);
    const std::vector<std::string> engine = output.last_of_engine(kLines);
    const auto report = run::reported_error(engine, verdict.first_failed_rank);
    if (!report.empty()) {
      verdict.quoted.assign(report.end() - std::min(std::ssize(report), kReportLines),
                            report.end());
      verdict.quoted_above = false;
    }
  } else if (verdict.of_engine) {
    verdict.quoted = output.last_of_engine(kQuotedLines);
  }
}

// Whether muster itself ended the job. The engine's messages are then only about that.
bool was_ended(run::Reason reason) {
  return reason == run::Reason::kInterrupted || reason == run::Reason::kTimeout ||
         reason == run::Reason::kStalled;
}

// Adds what the engine printed, apart from lines that are quoted already, for users who need more
// than the evidence above.
void quote_engine(const run::Output& output, run::Verdict& verdict) {
  if (verdict.code == 0 || verdict.of_engine) return;
  std::vector<std::string> lines = output.last_of_engine(kLines);
  std::erase_if(lines, [&](const std::string& line) {
    const bool is_ruler = line.find_first_not_of("-=* ") == std::string::npos;
    return is_ruler ||
           std::find(verdict.quoted.begin(), verdict.quoted.end(), line) != verdict.quoted.end();
  });
  const auto shown = std::min(std::ssize(lines), kEngineLines);
  verdict.engine_said.assign(lines.end() - shown, lines.end());
}

// Whether the output may contain a cause that the verdict does not name.
bool has_hidden_cause(const run::Record& record, const run::Verdict& verdict) {
  if (verdict.code == 0) return false;
  return verdict.first_failed_rank >= 0 || verdict.of_engine ||
         record.reason == run::Reason::kTimeout || record.reason == run::Reason::kStalled;
}

// Fills in `end.ending`. Ignores errors, because a failed explanation must not hide how the run
// ended.
void explain_end(const run::Record& record, const std::string& folder, AttemptEnd& end) {
  std::optional<ExplainedRun> explained;
  if (has_hidden_cause(record, end.verdict)) {
    const sys::FirstSignalIgnored until_explained;
    const auto summary = run::parse_summary(to_json(record, end.verdict));
    auto found =
        explain_folder(folder, summary ? std::optional(*summary) : std::nullopt, Reading::kEnds);
    if (found) explained = *std::move(found);
  }
  const std::size_t used =
      heading_lines(end).size() + whose_code_lines(ending_of(end.verdict)).size();
  end.ending = ending_lines(end.verdict, record.id, explained,
                            run::kEndingLines - std::min(used, run::kEndingLines));
}

// Opens the socket on which `muster why` asks this run. Returns null if the folder cannot hold a
// socket, for example because its path is too long.
std::unique_ptr<run::AskDesk> open_desk(sys::Loop& loop, run::Supervisor& supervisor,
                                        const std::string& folder) {
  const auto on_question = [&supervisor, folder](const run::WhyQuestion& question,
                                                 const run::AskDesk::Answer& answer) {
    agent::Inspection what;
    const bool is_slow = question.slow_s > 0;
    if (is_slow) {
      what.window_ms = static_cast<int>(question.slow_s * 1000);
      what.sample_every_ms = kSampleEveryMs;
    }
    const auto tell = [folder, is_slow, answer](const Result<why::Scene>& seen) {
      if (!seen) return answer({.error = seen.error().what});
      const why::Verdict verdict = is_slow ? why::judge_slow(*seen) : why::judge(*seen);
      const auto kept = run::keep_inspection(folder, *seen, verdict);
      if (kept) return answer({.folder = *kept});
      answer({.error = to_text(kept.error())});
    };
    supervisor.inspect(what, run::Urgency::kUser, tell);
  };
  auto desk = run::AskDesk::open(loop, folder, on_question);
  return desk ? *std::move(desk) : nullptr;
}

std::set<int> first_ranks(const layout::Layout& layout) {
  std::set<int> ranks;
  for (const layout::Placement& placement : layout.placements) ranks.insert(placement.first_rank);
  return ranks;
}

}  // namespace

std::string engine_name(const layout::Engine& engine) {
  if (!engine.pmi.empty()) {
    return fmt::format("{} ({} over {})", engines::name_of(engine.kind),
                       engines::name_of(engine.mpi), engine.pmi);
  }
  return engines::name_of(engine.kind, engine.version);
}

Result<launch::Plan> prepare(const Surveyed& all, const Turn& turn, const std::string& folder,
                             bool by_hand) {
  MUSTER_TRY(launch::Plan plan, make_plan(all, turn, folder, by_hand));
  MUSTER_CHECK(write_values({all.surveys, all.findings, all.layout, plan}, folder));
  return plan;
}

// Adds the host's GPUs if the host needs them to bind each rank near a GPU, or to give each rank a
// MIG device.
void add_gpus(const facts::Survey& survey, bool bind, agent::Assignment& told) {
  told.bind_to_gpu = bind;
  if (!survey.facts) return;
  const std::vector<facts::Gpu>& gpus = survey.facts->gpus;
  const bool has_mig = std::any_of(gpus.begin(), gpus.end(),
                                   [](const facts::Gpu& gpu) { return !gpu.mig_devices.empty(); });
  if (bind || has_mig) told.gpus = gpus;
}

void tell_placements(Surveyed& all, const launch::Plan& plan) {
  std::vector<std::string> variables = carried_variables(plan, all.job);
  // Only processes with this key can join libmuster's rendezvous. In pods there is no key, because
  // each pod's muster would make a different one.
  if (all.job.pods == 0) variables.push_back("MUSTER_JOB_KEY=" + sys::random_hex(kJobKeyBytes));
  std::map<std::string_view, std::size_t> members;
  for (std::size_t i = 0; i < all.cluster.hosts.size(); ++i) {
    members.emplace(all.cluster.hosts[i].name, i);
  }
  int number = all.job.pod;
  for (const layout::Placement& placement : all.layout.placements) {
    const auto member = members.find(placement.host);
    if (member == members.end()) continue;
    agent::Assignment told{.interface = placement.interface,
                           .variables = placement.variables,
                           .host_rank = number++,
                           .host_count = all.job.pods > 0
                                             ? all.job.pods
                                             : static_cast<int>(all.layout.placements.size()),
                           .first_rank = placement.first_rank,
                           .ranks = placement.ranks,
                           .all_ranks = all.layout.ranks};
    add_gpus(all.surveys[member->second], all.layout.bind_to == layout::kBindToGpu, told);
    all.crew->send(member->second,
                   {.kind = agent::Order::Kind::kPlace, .placement = told, .variables = variables});
  }
}

Result<AttemptEnd> supervise(Surveyed& all, const run::Patience& wanted, const launch::Plan& plan,
                             const Turn& turn, const std::string& folder, const Decide& decide,
                             run::Audience audience, std::uint64_t log_limit) {
  std::vector<std::string> names;
  for (const hosts::Host& host : all.cluster.hosts) names.push_back(host.name);
  forget_old_master(all);
  run::Record record = new_record(all, turn);
  MUSTER_CHECK(run::write_about(folder, run::about(record, wanted.orphan_after_s)));
  if (audience.show.first_per_host) audience.show.ranks = first_ranks(all.layout);
  const auto engine_shown = audience.engine;
  const bool shows_all = audience.watch != nullptr;
  MUSTER_TRY(const auto output,
             run::Output::open(folder, all.layout.ranks, std::move(audience), log_limit));
  run::Patience patience = wanted;
  record.engine_restarts = all.layout.max_restarts > 0 || all.layout.min_hosts > 0;
  patience.engine_restarts = record.engine_restarts;
  patience.min_hosts = all.layout.min_hosts;
  patience.others_elsewhere = all.job.pods > 1;
  patience.counts_hold = !plan.counts_may_differ;
  run::Supervisor supervisor(*all.loop, *all.crew, names, patience, record, *output);
  supervisor.keep_in(folder);
  supervisor.meet_at(all.layout.master_address, all.layout.master_port);
  const auto desk = open_desk(*all.loop, supervisor, folder);
  bool asked_for = true;
  supervisor.run(with_values(plan, all.job), [&] {
    asked_for = announce_detached();
    if (!asked_for) (void)::raise(SIGINT);  // the user's process has gone before the run began
  });
  output->finish();
  record.ended_s = sys::unix_time();
  record.dropped_bytes = output->dropped();
  for (const std::string& host : record.lost_hosts) all.transport->forget(host);
  supervisor.dismiss();
  read_last_words(record, *output);
  AttemptEnd end{.verdict = judge(record), .decision = {}};
  show_telling_rank(record, end.verdict, *output);
  quote_last_words(*output, end.verdict);
  end.verdict.quoted_above = end.verdict.quoted_above || shows_all;
  if (engine_shown == run::Audience::Engine::kIfTheRunFails && !was_ended(record.reason)) {
    quote_engine(*output, end.verdict);
  }
  end.decision = decide(record, end.verdict);
  if (end.decision.again) record.started_again = end.decision.why;
  keep(record, end.verdict, *output, folder);
  if (!end.decision.again) explain_end(record, folder, end);
  return end;
}

}  // namespace muster::cli
