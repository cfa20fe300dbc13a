#include "cli/run_values.hpp"

#include "sys/file.hpp"

namespace muster::cli {

Result<void> write_values(const RunValues& values, const std::string& folder) {
  std::string facts;
  for (const facts::Survey& survey : values.surveys) {
    if (survey.facts) facts += to_json(*survey.facts) + "\n";
  }
  std::string findings;
  for (const checks::Finding& finding : values.findings) findings += to_json(finding) + "\n";
  MUSTER_CHECK(sys::write_file(folder + "/facts.jsonl", facts, 0600));
  MUSTER_CHECK(sys::write_file(folder + "/findings.jsonl", findings, 0600));
  MUSTER_CHECK(sys::write_file(folder + "/layout.json", to_json(values.layout) + "\n", 0600));
  MUSTER_CHECK(sys::write_file(folder + "/plan.json", to_json(values.plan) + "\n", 0600));
  for (const launch::PlanFile& file : values.plan.files) {
    MUSTER_CHECK(sys::write_file(file.path, file.content, file.mode));
  }
  return {};
}

}  // namespace muster::cli
