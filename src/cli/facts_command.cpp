#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "facts/gather.hpp"
#include "facts/summary.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct FactsOptions {
  facts::Request request;
  bool json = false;
};

Result<int> show_facts(FactsOptions& options) {
  std::error_code failed;
  // A person names a program from where they stand.
  options.request.folder = std::filesystem::current_path(failed).string();
  const facts::Facts found = facts::gather(options.request).facts;
  const std::string text = options.json ? facts::to_json(found) + "\n" : facts::summary(found);
  sys::write_out(text);
  return 0;
}

}  // namespace

void add_facts(CLI::App& app, Action& action) {
  auto options = std::make_shared<FactsOptions>();
  facts::Request& request = options->request;
  CLI::App* command = app.add_subcommand("facts", "Show what muster finds out about this machine");
  command->footer(
      "Examples:\n"
      "  muster facts\n"
      "  muster facts --json --activate 'source ~/venv/bin/activate' --program python3");
  command->add_flag("--json", options->json, "Print everything as JSON");
  command
      ->add_option("--activate", request.activate,
                   "Shell lines to run first, such as 'source ~/venv/bin/activate'")
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
  command->callback([options, &action] { action = [options] { return show_facts(*options); }; });
}

}  // namespace muster::cli
