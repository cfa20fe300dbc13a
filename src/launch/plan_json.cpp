#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "launch/plan.hpp"

namespace muster::launch {

template <class V>
void fields(V& v, PlanFile& f) {
  v("path", f.path), v("content", f.content), v("mode", f.mode);
}

template <class V>
void fields(V& v, Command& c) {
  v("argv", c.argv), v("host", c.host), v("input", c.input);
}

template <class V>
void fields(V& v, Plan& p) {
  v("commands", p.commands), v("env", p.env), v("carried", p.carried), v("files", p.files);
  v("notes", p.notes);
}

std::string to_json(const Plan& plan) {
  return sorted_json_of_fields(plan);
}

Result<Plan> parse_plan(const std::string& json) {
  return parse_fields<Plan>(json, "this is not the plan of a run", kOwnExactFile);
}

nlohmann::ordered_json plan_schema() {
  return json_schema_of<Plan>();
}

}  // namespace muster::launch
