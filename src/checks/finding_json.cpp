#include <array>
#include <utility>

#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "checks/finding.hpp"

namespace muster::checks {

static auto texts_of(Severity) {
  return std::array{std::pair(Severity::kNote, "note"), std::pair(Severity::kWarning, "warning"),
                    std::pair(Severity::kError, "error")};
}

template <class V>
void fields(V& v, Finding& f) {
  v("id", f.id), v("severity", f.severity), v("hosts", f.hosts);
  v.lines("what", f.what), v.lines("evidence", f.evidence), v.lines("fix", f.fix);
}

std::string to_json(const Finding& finding) {
  return sorted_json_of_fields(finding);
}

Result<Finding> parse_finding(const std::string& json) {
  return parse_fields<Finding>(json, "this is not a finding", kOwnFile);
}

nlohmann::ordered_json finding_schema() {
  return json_schema_of<Finding>();
}

}  // namespace muster::checks
