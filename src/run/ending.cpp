#include "run/ending.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace muster::run {

std::string whose_code(const Ending& ending) {
  if (ending.code == 0) return {};
  if (ending.rank < 0) return fmt::format("exit code {} is muster's own", ending.code);
  return fmt::format("exit code {} is that of rank {} on {}", ending.code, ending.rank,
                     ending.host);
}

std::string began_json(const std::string& run_id) {
  const nlohmann::ordered_json value = {{"schema", 1}, {"run", run_id}, {"state", "running"}};
  return json_text(value) + "\n";
}

std::string to_json(const Ending& ending, const std::string& run_id) {
  nlohmann::ordered_json value = {
      {"schema", 1}, {"run", run_id}, {"state", "ended"}, {"code", ending.code}};
  if (ending.code != 0) value["code_of"] = ending.rank < 0 ? "muster" : "rank";
  if (ending.rank >= 0) {
    value["rank"] = ending.rank;
    value["host"] = ending.host;
  }
  value["what"] = ending.text;
  return json_text(value) + "\n";
}

}  // namespace muster::run
