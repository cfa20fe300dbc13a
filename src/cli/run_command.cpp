#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "cli/command.hpp"
#include "cli/detach.hpp"
#include "cli/reach.hpp"
#include "cli/run_options.hpp"
#include "cli/slurm_job.hpp"
#include "cli/survey.hpp"
#include "hosts/fold.hpp"
#include "launch/plan.hpp"
#include "layout/engine.hpp"
#include "remote/ssh.hpp"
#include "run/collect.hpp"
#include "run/folder.hpp"
#include "run/supervisor.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr int kOwnFault = 125;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

std::set<std::string> variable_names() {
  std::set<std::string> names;
  for (const auto& [name, value] : own_environment()) names.insert(name);
  return names;
}

std::string engine_name(const layout::Engine& engine) {
  if (!engine.pmi.empty()) {
    return fmt::format("{} ({} over {})", layout::mpi_name(engine.kind),
                       layout::mpi_name(engine.mpi), engine.pmi);
  }
  return layout::mpi_name(engine.kind, engine.version);
}

// One line that says what was understood, so that a surprise shows before the job does.
std::string understood(const Surveyed& all, const std::string& run_id) {
  std::vector<std::string> names;
  for (const auto& placement : all.layout.placements) names.push_back(placement.host);
  return fmt::format("muster: run {}: {} rank{} on {}, {}, network {}, master {}:{}\n", run_id,
                     all.layout.ranks, all.layout.ranks == 1 ? "" : "s", hosts::fold(names),
                     engine_name(all.layout.engine),
                     all.layout.subnet.empty() ? "not known" : all.layout.subnet,
                     all.layout.master_address, all.layout.master_port);
}

Result<launch::Plan> make_plan(const Surveyed& all, const std::string& run_id,
                               const std::string& folder) {
  return launch::plan(
      all.job, all.layout,
      {.shim = all.crew->binary(),
       .run_id = run_id,
       .folder = folder,
       .ssh = remote::ssh_words({.user = all.cluster.user, .port = all.cluster.port}),
       .allocation = all.allocation,
       .user_env = variable_names(),
       .as_root = ::geteuid() == 0});
}

Result<void> write_values(const Surveyed& all, const launch::Plan& plan,
                          const std::string& folder) {
  std::string facts;
  for (const facts::Survey& survey : all.surveys) {
    if (survey.facts) facts += to_json(*survey.facts) + "\n";
  }
  std::string findings;
  for (const checks::Finding& finding : all.findings) findings += to_json(finding) + "\n";
  MUSTER_CHECK(sys::write_file(folder + "/facts.jsonl", facts, 0600));
  MUSTER_CHECK(sys::write_file(folder + "/findings.jsonl", findings, 0600));
  MUSTER_CHECK(sys::write_file(folder + "/layout.json", to_json(all.layout) + "\n", 0600));
  MUSTER_CHECK(sys::write_file(folder + "/plan.json", to_json(plan) + "\n", 0600));
  for (const launch::PlanFile& file : plan.files) {
    MUSTER_CHECK(sys::write_file(file.path, file.content, file.mode));
  }
  return {};
}

run::Record new_record(const Surveyed& all, const std::string& run_id) {
  run::Record record{.id = run_id,
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

Result<int> supervise(Surveyed& all, const RunOptions& options, const launch::Plan& plan,
                      const std::string& run_id, const std::string& folder) {
  std::set<std::string, std::less<>> hosts;
  std::vector<std::string> names;
  for (const hosts::Host& host : all.cluster.hosts) {
    hosts.insert(host.name);
    names.push_back(host.name);
  }
  run::Record record = new_record(all, run_id);
  MUSTER_TRY(const auto output, run::Output::open(folder, hosts, all.layout.ranks, true));
  run::Patience patience = options.patience;
  record.engine_restarts = all.layout.max_restarts > 0 || all.layout.min_hosts > 0;
  patience.engine_restarts = record.engine_restarts;
  patience.min_hosts = all.layout.min_hosts;
  patience.others_elsewhere = all.job.pods > 1;
  run::Supervisor supervisor(*all.loop, *all.crew, names, patience, record, *output);
  bool wanted = true;
  auto ended = supervisor.run(plan, [&] {
    wanted = announce_detached();
    if (!wanted) (void)::raise(SIGINT);  // who asked for it is gone before it began
  });
  if (!ended) {
    supervisor.dismiss(false);
    return unexpected(ended.error());
  }
  output->finish();
  record.ended_s = sys::unix_time();
  for (const std::string& host : record.lost_hosts) all.transport->forget(host);
  const bool complete = collect_missing(*all.transport, all.crew->base(), record, *output);
  supervisor.dismiss(!complete);
  const run::Verdict verdict = judge(record);
  const auto kept = sys::write_file(folder + "/record.json", to_json(record, verdict), 0600);
  output->show_rest();
  if (!output->not_kept().empty()) {
    fmt::print(stderr, "muster: {} does not hold all of the output: {}\n", folder,
               output->not_kept());
  }
  if (!kept) fmt::print(stderr, "muster: {}\n", to_text(kept.error()));
  if (!verdict.text.empty()) {
    fmt::print(stderr, "muster: {}\n", verdict.text);
    if (!verdict.hint.empty()) fmt::print(stderr, "  hint: {}\n", verdict.hint);
  }
  return verdict.code;
}

// A program that is not there, or cannot be run, has codes of its own.
int refusal_code(const std::vector<facts::Survey>& surveys) {
  for (const facts::Survey& survey : surveys) {
    if (!survey.facts) continue;
    const std::optional<facts::Program>& program = survey.facts->program;
    if (!program) continue;
    if (program->path.empty()) return kNotFound;
    if (!program->executable) return kCannotRun;
  }
  return kOwnFault;
}

// Values of the variables that muster itself brings to the hosts.
std::vector<std::string> carried_variables(const launch::Plan& plan) {
  std::vector<std::string> variables;
  for (const std::string& name : plan.carried) {
    const auto ours = std::find_if(plan.env.begin(), plan.env.end(), [&](const std::string& one) {
      return one.starts_with(name + "=");
    });
    if (ours != plan.env.end()) {
      variables.push_back(*ours);
    } else if (const char* value = std::getenv(name.c_str())) {  // NOLINT(concurrency-mt-unsafe)
      variables.push_back(name + "=" + value);
    }
  }
  return variables;
}

// Each host keeps for its ranks what was decided for it.
void tell_placements(Surveyed& all, const launch::Plan& plan) {
  const std::vector<std::string> variables = carried_variables(plan);
  int number = all.job.pod;
  for (const layout::Placement& placement : all.layout.placements) {
    const auto& hosts = all.cluster.hosts;
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const hosts::Host& one) {
      return one.name == placement.host;
    });
    agent::Placement told{.interface = placement.interface,
                          .host_rank = number++,
                          .host_count = all.job.pods > 0
                                            ? all.job.pods
                                            : static_cast<int>(all.layout.placements.size()),
                          .first_rank = placement.first_rank,
                          .ranks = placement.ranks,
                          .all_ranks = all.layout.ranks};
    if (placement.rdma) {
      told.rdma = fmt::format("{}:{}", placement.rdma->device, placement.rdma->port);
      told.gid_index = placement.rdma->gid_index;
    }
    all.crew->send(static_cast<std::size_t>(host - hosts.begin()),
                   {.kind = agent::Order::Kind::kPlace, .placement = told, .variables = variables});
  }
}

// For pasting: with the values that were given with -x, and the hosts keep what the shim needs.
void show_command(Surveyed& all, const RunOptions& options, launch::Plan plan) {
  for (const std::string& given : options.job.variables) {
    if (given.find('=') != std::string::npos) plan.env.push_back(given);
  }
  fmt::print("{}\n", options.json ? to_json(plan) : to_command_line(plan));
  for (std::size_t i = 0; i < all.cluster.hosts.size(); ++i) {
    all.crew->send(i, {.kind = agent::Order::Kind::kBye, .keep = true});
  }
}

Result<int> run_job(const RunOptions& options, const launch::Words& words, const Program& program) {
  if (program.empty()) return unexpected(no_program("muster run -H n[1-3] -- python train.py"));
  if (options.job.job.engine == "slurm") {
    MUSTER_TRY(const bool there, in_allocation());
    if (!there) return allocate_and_run(options, words, program);
  }
  const std::string run_id = run::new_run_id();
  if (options.detach) {
    if (const auto code = detach(run_id)) return *code;  // in the parent, after the start
  }
  MUSTER_TRY(const auto all, survey(options.job, program, run_id, false));
  if (options.job.verbose) {
    for (const std::string& why : all->layout.why) fmt::print(stderr, "muster: {}\n", why);
  }
  const bool refused = checks::has_errors(all->findings) && !options.force;
  if (!all->findings.empty() && (refused || !options.quiet)) {
    fmt::print(stderr, "{}", checks::to_text(all->findings));
  }
  if (refused) {
    fmt::print(stderr, "muster: not started; see above (--force starts it anyway)\n");
    return refusal_code(all->surveys);
  }
  MUSTER_TRY(const std::string folder, run::make_run_folder(run_id));
  MUSTER_CHECK(run::write_owner(folder));
  MUSTER_TRY(const launch::Plan plan, make_plan(*all, run_id, folder));
  MUSTER_CHECK(write_values(*all, plan, folder));
  for (const std::string& note : plan.notes) {
    if (!options.quiet) fmt::print(stderr, "muster: {}\n", note);
  }
  tell_placements(*all, plan);
  if (options.dry_run) {
    show_command(*all, options, plan);
    return 0;
  }
  if (!options.quiet && options.job.job.engine.empty() && options.job.job.launcher.empty()) {
    fmt::print(stderr, "muster: {}\n", all->layout.engine.why);
  }
  if (!options.quiet) fmt::print(stderr, "{}", understood(*all, run_id));
  return supervise(*all, options, plan, run_id, folder);
}

// Only muster's own codes here: a job's are its own.
Result<int> run_command(const RunOptions& options, const launch::Words& words,
                        const Program& program) {
  auto code = run_job(options, words, program);
  if (!code && code.error().code != ErrorCode::kUsage) {
    fmt::print(stderr, "muster: {}\n", to_text(code.error()));
    return kOwnFault;
  }
  return code;
}

constexpr auto kMore =
    "The ranks' output is shown as '[host:rank] line', and kept: muster logs. Ends as the first "
    "rank "
    "that failed did (128+n for signal n); with 124 when --timeout passed, 125 when a host was "
    "lost or "
    "muster or the engine failed, 126/127 when the program cannot be run/is not there, 130 on "
    "Ctrl-C.\n\n"
    "Flags of torchrun, mpirun, hydra and srun are understood, or refused with the spelling to "
    "use.";

}  // namespace

void add_run(CLI::App& app, Action& action, const std::vector<std::string>& words,
             const Program& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run the program after -- on all hosts, as one distributed job");
  command->footer(kMore);
  add_run_options(*command, *options);
  auto* detach = command->add_flag("-d,--detach", options->detach,
                                   "Return once it runs; muster attach ID comes back to it");
  auto* dry_run = command->add_flag("--dry-run", options->dry_run,
                                    "Print the engine's command and start nothing");
  dry_run->excludes(detach);
  command->add_flag("--json", options->json, "Print it as JSON, with what else belongs to it")
      ->needs(dry_run);
  command->callback([options, &action, &words, &program] {
    action = [options, &words, &program] {
      return run_command(*options, {words.begin() + 1, words.end()}, program);
    };
  });
}

}  // namespace muster::cli
