#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/manual.hpp"
#include "cli/usage.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr const char* kVersion = MUSTER_VERSION;
constexpr mode_t kPageMode = 0644;

struct ManOptions {
  std::vector<std::string> command;
  std::string to;
};

Result<void> write_pages(const CLI::App& command, const std::string& folder) {
  const std::string path = fmt::format("{}/{}.1", folder, full_name(command, '-'));
  MUSTER_CHECK(sys::write_file(path, manual_page(command, kVersion), kPageMode));
  for (const CLI::App* one : command.get_subcommands({})) MUSTER_CHECK(write_pages(*one, folder));
  return {};
}

Result<int> man(const CLI::App& app, const ManOptions& options) {
  if (!options.to.empty()) {
    MUSTER_CHECK(write_pages(app, options.to));
    return 0;
  }
  const CLI::App* command = named_command(&app, options.command);
  const std::string wanted = fmt::format("muster {}", fmt::join(options.command, " "));
  if (!options.command.empty() && full_name(*command) != wanted) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("there is no command '{}'", wanted),
              .hint = fmt::format("{} --help lists the commands", full_name(*command))});
  }
  sys::write_out(manual_page(*command, kVersion));
  return 0;
}

}  // namespace

void add_man(CLI::App& app, Action& action) {
  auto options = std::make_shared<ManOptions>();
  CLI::App* command = app.add_subcommand("man", "Print the man page of a command");
  command->footer(
      "cmake --install installs the pages, so that man muster-run finds them.\n\n"
      "Examples:\n"
      "  muster man run      # to read it: muster man run | man -l -\n"
      "  muster man lab up");
  command->add_option("COMMAND", options->command, "The command's name; default: muster itself");
  command->add_option("--to", options->to, "Write the pages of all commands to this directory")
      ->type_name("PATH");
  command->callback(
      [options, &app, &action] { action = [options, &app] { return man(app, *options); }; });
}

}  // namespace muster::cli
