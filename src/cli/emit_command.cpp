// `muster emit`: writes files for the tools that provide machines.
#include "cli/command.hpp"
#include "cli/emit_k8s_command.hpp"
#include "cli/emit_terraform_command.hpp"

namespace muster::cli {

// The subcommands are in the order of --help.
void add_emit(CLI::App& app, Action& action, const Program& program) {
  CLI::App* emit = app.add_subcommand("emit", "Write files for the tools that provide machines");
  emit->require_subcommand(1);
  emit->footer(
      "muster only writes files: it creates nothing in a cloud or cluster and keeps no state.\n"
      "muster emit COMMAND --help shows a command's flags.\n\n"
      "Examples:\n"
      "  muster emit terraform --to aws -N 4 --type c7i.large --ssh-from 192.0.2.7\n"
      "  muster emit k8s --name pi --image me/torch:1 -N 2 -- python3 pi.py > pi.yaml");
  add_emit_terraform(*emit, action);
  add_emit_k8s(*emit, action, program);
}

}  // namespace muster::cli
