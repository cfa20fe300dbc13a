#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "facts/facts_fields.hpp"

namespace muster::facts {

std::string to_json(const Facts& facts) {
  return json_of_fields(facts);
}

Result<Facts> parse_facts(const std::string& json) {
  return parse_fields<Facts>(json, "these are not facts of a host");
}

std::string to_json(const Request& request) {
  return json_of_fields(request);
}

Result<Request> parse_request(const std::string& json) {
  return parse_fields<Request>(json, "these are not questions to a host", kExactTexts);
}

nlohmann::ordered_json facts_schema() {
  return json_schema_of<Facts>();
}

}  // namespace muster::facts
