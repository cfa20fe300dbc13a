
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/survey.hpp"
#include "hosts/fold.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct CheckOptions {
  JobOptions job;
  bool json = false;
};

// What was decided and why, a line each.
std::string decision_text(const Surveyed& all) {
  std::string text;
  for (const std::string& why : all.layout.why) text += fmt::format("  {}\n", why);
  return text;
}

void print_json(const Surveyed& all) {
  for (const checks::Finding& finding : all.findings) sys::print_out("{}\n", to_json(finding));
}

void print_text(const Surveyed& all) {
  std::size_t answered = 0;
  for (const facts::Survey& survey : all.surveys) answered += survey.facts ? 1 : 0;
  sys::print_out("{} of {} hosts answered\n", answered, all.surveys.size());
  if (answered > 0) sys::write_out(decision_text(all));  // without facts it would be made up
  if (all.findings.empty()) {
    sys::print_out("nothing found: ready to run\n");
  } else {
    sys::print_out("\n{}", checks::to_text(all.findings));
  }
}

Result<int> check(const CheckOptions& options, const Program& program) {
  MUSTER_TRY(const auto all, survey(options.job, program, {.compare_clocks = true}));
  options.json ? print_json(*all) : print_text(*all);
  return checks::has_errors(all->findings) ? exit_code(ErrorCode::kFindings) : 0;
}

}  // namespace

void add_check(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check", "Look at all hosts, side by side, and say what would go wrong with a job on them");
  command->footer(
      "Given a program, it checks that too: is it everywhere, the same, and complete?\n\n"
      "Ends with 0 when a job would run (there may be warnings), 3 when it would not.");
  add_job_options(*command, options->job);
  command->add_flag("--json", options->json, "One JSON object a finding, a line each");
  command->callback([options, &action, &program] {
    action = [options, &program] { return check(*options, program); };
  });
}

}  // namespace muster::cli
