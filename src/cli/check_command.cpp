
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/first_pod.hpp"
#include "cli/reach.hpp"
#include "cli/saved_states.hpp"
#include "cli/survey.hpp"
#include "hosts/fold.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct CheckOptions {
  JobOptions job;
  bool json = false;
  bool save = false;
  bool force = false;  // save the state of hosts that have errors, too
};

// What was decided and why, one line per decision.
std::string decision_text(const Surveyed& all) {
  std::string text;
  for (const std::string& why : all.layout.why) text += fmt::format("  {}\n", why);
  for (const std::string& line : {all.compared, all.compared_states}) {
    if (!line.empty()) text += fmt::format("  {}\n", line);
  }
  return text;
}

void print_json(const Surveyed& all) {
  for (const checks::Finding& finding : all.findings) sys::print_out("{}\n", to_json(finding));
}

void print_text(const Surveyed& all) {
  std::size_t answered = 0;
  for (const facts::Survey& survey : all.surveys) answered += survey.facts ? 1 : 0;
  sys::print_out("{} of {} hosts answered\n", answered, all.surveys.size());
  // Without any facts, decisions would be guesses.
  if (answered > 0) sys::write_out(decision_text(all));
  if (all.findings.empty()) {
    sys::print_out("no problems found: ready to run\n");
  } else {
    sys::print_out("\n{}", checks::to_text(all.findings, sys::shows_colours(STDOUT_FILENO)));
  }
}

void say_what_was_saved(const std::vector<std::string>& saved, const SaveChoice& choice) {
  if (!saved.empty()) {
    sys::print_err("muster: saved the state of {} in {}\n", hosts::fold(saved),
                   saved_states_folder());
  }
  if (!choice.with_errors.empty()) {
    sys::print_err("muster: not saved because of the errors above: {}; to save anyway: --force\n",
                   hosts::fold(choice.with_errors));
  }
  if (!choice.unexamined.empty()) {
    sys::print_err("muster: not saved, because hosts that get no ranks are not examined: {}\n",
                   hosts::fold(choice.unexamined));
  }
}

Result<void> save(const Surveyed& all, bool force) {
  const SaveChoice choice = choose_to_save(all.surveys, all.layout, all.findings, force);
  std::map<std::string, const facts::Facts*> by_host;
  for (const facts::Survey& survey : all.surveys) {
    if (survey.facts) by_host.emplace(survey.host, &*survey.facts);
  }
  SaveResult result;
  if (!choice.wanted.empty()) {
    const auto save_one = [&](facts::SavedState& state) -> Result<void> {
      const facts::Facts& now = *by_host.at(state.host);
      if (!is_of_machine(state, now.hostname)) state.rates.clear();
      state.hostname = now.hostname;
      state.saved_s = sys::unix_time();
      state.facts = facts::worth_saving(now);
      return {};
    };
    MUSTER_TRY(result, update_saved_states(choice.wanted, save_one));
  }
  say_what_was_saved(result.saved, choice);
  return report_not_saved(result);
}

Result<int> check(const CheckOptions& options, const Program& program) {
  if (options.save) MUSTER_CHECK(check_may_save());
  const std::chrono::seconds patience(options.job.answer_within_s);
  MUSTER_TRY(const auto signal, wait_for_first_pod(options.job, patience));
  if (signal) return 128 + *signal;
  MUSTER_TRY(const auto all, survey(options.job, program, {.compare_clocks = true}));
  options.json ? print_json(*all) : print_text(*all);
  if (options.save) MUSTER_CHECK(save(*all, options.force));
  return checks::has_errors(all->findings) ? refusal_code(*all) : 0;
}

}  // namespace

void add_check(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Find what would make a job fail, before you start it");
  command->formatter(help_formatter("[PROGRAM [ARGUMENTS]]"));
  command->footer(
      "If you name a program, muster also checks that every host has it, that all copies are equal "
      "and that no library is missing. muster check takes the flags of muster run that describe "
      "the hosts and the job.\n\n"
      "Exit code: 0 if the job can start, even if there are warnings. Otherwise, it is the one "
      "with "
      "which muster run would refuse the job: 126 if the program cannot be run, 127 if it does not "
      "exist, 123 for any other error.\n\n"
      "Examples:\n"
      "  muster check -H node1,node2\n"
      "  muster check -H 'node[01-16]:4' train.py --epochs 3\n"
      "  muster check -H 'node[01-16]' --save");
  add_job_options(*command, options->job);
  command->add_flag("--json", options->json, "Print one JSON object per finding");
  CLI::Option* const save =
      command->add_flag("--save", options->save,
                        "Save the hosts' current state as a baseline; later checks report what "
                        "has changed since");
  command->add_flag("--force", options->force, "With --save: save even if the checks found errors")
      ->needs(save);
  command->callback([options, command, &action, &program] {
    action = [options, command, &program]() -> Result<int> {
      MUSTER_CHECK(take_config(*command, options->job.cluster));
      return check(*options, program);
    };
  });
}

}  // namespace muster::cli
