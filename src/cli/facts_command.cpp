#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/reach.hpp"
#include "cli/survey.hpp"
#include "facts/gather.hpp"
#include "facts/summary.hpp"
#include "remote/outcome.hpp"
#include "run/crew.hpp"
#include "sys/live_line.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct FactsOptions {
  facts::Request request;
  JobOptions job;  // names the hosts and their time limit
  bool json = false;
};

bool asks_other_hosts(const ClusterOptions& cluster) {
  return !cluster.expression.empty() || !cluster.hostfile.empty() || !cluster.config.empty();
}

std::vector<facts::Survey> ask_hosts(sys::Loop& loop, const Reach& reach,
                                     const FactsOptions& options) {
  const std::chrono::seconds patience(options.job.answer_within_s);
  const bool activates = !options.request.activate.empty();
  std::vector<std::string> names;
  for (const hosts::Host& host : reach.cluster.hosts) names.push_back(host.name);
  sys::Progress progress;
  run::Crew crew(loop, *reach.transport, std::move(names),
                 {.request = options.request,
                  .deadline = patience,
                  .for_facts = activates ? patience + kActivationTakes : patience,
                  .on_progress = progress.shown()});
  return crew.survey();
}

Result<int> show_facts_of_hosts(const FactsOptions& options) {
  sys::UvLoop loop;  // must outlive the transport, which may wait for sessions
  MUSTER_TRY(const Reach reach, find_reach(options.job));
  std::vector<remote::Outcome> outcomes;
  for (const facts::Survey& survey : ask_hosts(loop, reach, options)) {
    outcomes.push_back({survey.host, sys::Ended{}});
    if (!survey.facts) {
      outcomes.back().ended = unexpected(survey.facts.error());
      if (options.json) sys::print_out("{}\n", to_json(outcomes.back()));
    } else if (options.json) {
      sys::print_out("{}\n", facts::to_json(*survey.facts));
    } else {
      sys::print_out("--- {} ---\n{}", survey.host, facts::summary(*survey.facts));
    }
  }
  sys::write_err(remote::failures_text(outcomes));
  const remote::Conclusion conclusion = remote::conclusion(outcomes);
  return conclusion.failure ? exit_code(*conclusion.failure) : 0;
}

Result<int> show_facts(FactsOptions& options) {
  std::error_code failed;
  // A relative program path starts at the current directory.
  options.request.folder = std::filesystem::current_path(failed).string();
  options.request.answer_within_s = options.job.answer_within_s;
  options.request.software = !options.request.program.empty();
  options.request.hash_within_ms = 1000 * options.job.answer_within_s / 3;
  if (asks_other_hosts(options.job.cluster)) return show_facts_of_hosts(options);
  const facts::Facts found = facts::gather(options.request).facts;
  const std::string text = options.json ? facts::to_json(found) + "\n" : facts::summary(found);
  sys::write_out(text);
  return 0;
}

}  // namespace

void add_facts(CLI::App& app, Action& action) {
  auto options = std::make_shared<FactsOptions>();
  facts::Request& request = options->request;
  CLI::App* command =
      app.add_subcommand("facts", "Show what muster finds out about this machine, or about hosts");
  command->footer(
      "Examples:\n"
      "  muster facts\n"
      "  muster facts --json --activate 'source ~/venv/bin/activate' --program python3\n"
      "  muster facts -H 'node[01-16]'");
  add_cluster_options(*command, options->job.cluster);
  command->add_flag("--json", options->json,
                    "Print everything as JSON, one object per host on a line of its own");
  command
      ->add_option("--activate", request.activate,
                   "Shell commands that set up the environment on each host, such as 'source "
                   "~/venv/bin/activate'")
      ->type_name("LINES");
  command->add_option("--program", request.program, "Also examine this program and its libraries")
      ->type_name("PATH");
  command->add_option("--launcher", request.launchers, "Also examine this mpirun; may be repeated")
      ->type_name("PATH")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.starts_with('/') ? std::string() : "the path must begin with /";
          },
          "PATH"));
  trainflags::takes_duration(
      command->add_option("--answer-within", options->job.answer_within_s,
                          "Give up on a host that has not answered within this time"),
      1)
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return show_facts(*options); }; });
}

}  // namespace muster::cli
