#include "base/json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

// The nesting depth of valid JSON. For other text, at least the depth of its valid beginning.
int json_depth(std::string_view text) {
  int depth = 0;
  int most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return most;
}

template <class Json>
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) return unexpected(Error{.what = "too long"});
  if (json_depth(text) > limits.depth) return unexpected(Error{.what = "nested too deeply"});
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return unexpected(Error{.what = "no JSON"});
  return json;
}

std::string json_text(const nlohmann::json& json, int indent) {
  return dumped(json, indent);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return dumped(json, indent);
}

std::string sorted_json_text(const nlohmann::ordered_json& json, int indent) {
  return dumped(nlohmann::json(json), indent);
}

}  // namespace muster
