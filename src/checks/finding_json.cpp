#include <nlohmann/json.hpp>

#include "checks/finding.hpp"

namespace muster::checks {
namespace {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      break;
  }
  return "note";
}

}  // namespace

std::string to_json(const Finding& finding) {
  const nlohmann::json value = {
      {"id", finding.id},     {"severity", name_of(finding.severity)}, {"hosts", finding.hosts},
      {"what", finding.what}, {"evidence", finding.evidence},          {"fix", finding.fix}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster::checks
