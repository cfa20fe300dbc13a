#include "cli/emit_command.hpp"

namespace muster::cli {

void add_emit(CLI::App& app, Action& action) {
  CLI::App* emit =
      app.add_subcommand("emit", "Write files with which other tools make hosts for your jobs");
  emit->require_subcommand(1);
  emit->footer(
      "muster only writes files: it creates nothing in a cloud and keeps no state.\n"
      "muster emit COMMAND --help shows a command's flags.\n\n"
      "Examples:\n"
      "  muster emit terraform --to cloud --worker-type c7i.2xlarge --ssh-from 203.0.113.7");
  // One line per subcommand, in the order of --help.
  add_emit_terraform(*emit, action);
}

}  // namespace muster::cli
