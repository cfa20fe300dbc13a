// `muster emit`: files for the tools that provide the machines.
#include "cli/command.hpp"
#include "cli/emit_k8s_command.hpp"

namespace muster::cli {

void add_emit(CLI::App& app, Action& action, const Program& program) {
  CLI::App* emit = app.add_subcommand("emit", "Write files for the tools that provide machines");
  emit->require_subcommand(1);
  emit->footer(
      "muster emit COMMAND --help shows a command's flags.\n\n"
      "Examples:\n"
      "  muster emit k8s --name pi --image me/torch:1 -N 2 -- python3 pi.py > pi.yaml\n"
      "  muster emit k8s --kind trainjob --name pi --image me/torch:1 -- python3 pi.py");
  add_emit_k8s(*emit, action, program);
}

}  // namespace muster::cli
