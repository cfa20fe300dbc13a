#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "cli/config_keys.hpp"
#include "cli/flag_words.hpp"
#include "engines/kind.hpp"
#include "run/log_limit.hpp"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVariableName = "^[A-Za-z0-9_]+$";

Json one_of(std::initializer_list<Json> forms) {
  Json all = Json::array();
  for (const Json& form : forms) all.push_back(form);
  return {{"anyOf", all}};
}

Json count_from(int least) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", 1'000'000}};
}

Json any_text() {
  return {{"type", "string"}, {"minLength", 1}};
}

Json text_like(const char* pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

Json list_of(const Json& word) {
  return one_of({word, {{"type", "array"}, {"items", word}, {"minItems", 1}}});
}

Json engine_names() {
  Json names = Json::array();
  for (const engines::Kind& kind : engines::all()) names.push_back(kind.word);
  return {{"enum", names}};
}

Json value_of(KeyType type) {
  switch (type) {
    case KeyType::kCount:
      return count_from(1);
    case KeyType::kCountFrom0:
      return count_from(0);
    case KeyType::kRanksPerHost:
      return one_of({count_from(1), {{"enum", {"auto", "cpu", "gpu"}}}});
    case KeyType::kNodes:
      return one_of({count_from(1), text_like("^[1-9][0-9]*:[1-9][0-9]*$")});
    case KeyType::kEngine:
      return engine_names();
    case KeyType::kYesNo:
      return {{"type", "boolean"}};
    case KeyType::kDuration:
      return one_of({{{"type", "number"}, {"minimum", 0.1}}, text_like("^([0-9.]+[dhms])+$")});
    case KeyType::kSize:
      return one_of({{{"type", "integer"}, {"minimum", run::LogLimit::kSmallest}},
                     text_like("^[1-9][0-9]* *[MmGgTt]([Ii]?[Bb])?$")});
    case KeyType::kOutput:
      return one_of({{{"enum", {"folded", "all", "first-per-host"}}},
                     {{"type", "integer"}, {"minimum", 0}},
                     text_like("^[0-9]+(,[0-9]+)*$")});
    case KeyType::kPort:
      return {{"type", "integer"}, {"minimum", 1}, {"maximum", 65535}};
    case KeyType::kWords:
      return list_of(any_text());
    case KeyType::kText:
    case KeyType::kPath:
      break;
  }
  return any_text();
}

Json environment() {
  const Json value = {{"type", {"string", "number", "boolean", "null"}}};
  const Json map = {{"type", "object"},
                    {"propertyNames", {{"pattern", kVariableName}}},
                    {"additionalProperties", value},
                    {"minProperties", 1}};
  Json schema = one_of({map, list_of(text_like("^[A-Za-z0-9_]+(=.*)?$"))});
  schema["description"] =
      "Variables for the ranks: NAME: value, or only NAME: to take the value from your environment";
  return schema;
}

// The help of the key's flag, without the words after which the parser lists the choices.
std::string description_of(const ConfigKey& key) {
  constexpr std::string_view kBeforeChoices = "; one of";
  std::string_view text = find_flag(key.flag)->help;
  if (text.ends_with(kBeforeChoices)) text.remove_suffix(kBeforeChoices.size());
  return std::string(text);
}

// The keys that can be both in the file itself and in its profiles.
Json shared_keys() {
  Json keys;
  for (const ConfigKey& key : config_keys()) {
    Json value = value_of(key.type);
    value["description"] = description_of(key);
    keys[std::string(key.name)] = std::move(value);
  }
  keys["environment"] = environment();
  keys["env_file"] = list_of(any_text());
  keys["env_file"]["description"] =
      "Files of variables for the ranks, with NAME=value in each line; relative to this file";
  return keys;
}

Json object_of(Json keys) {
  return {{"type", "object"},
          {"properties", std::move(keys)},
          {"additionalProperties", false},
          {"not", {{"required", {"hosts", "hostfile"}}}}};
}

}  // namespace

std::string config_schema() {
  Json file = object_of(shared_keys());
  file["properties"]["profiles"] = {
      {"type", "object"},
      {"description", "Named sets of keys; muster run -P NAME lets them replace those of the file"},
      {"propertyNames", {{"pattern", "^[A-Za-z0-9_.-]+$"}}},
      {"additionalProperties", {{"$ref", "#/$defs/profile"}}}};
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "muster.yaml"}};
  schema.update(file);
  schema["$defs"] = {{"profile", object_of(shared_keys())}};
  return json_text(schema, 2) + "\n";
}

}  // namespace muster::cli
