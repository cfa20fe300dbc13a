// JSON Schema (draft 2020-12) of plain structs, from the same description of their fields as the
// writer and the reader in json_fields.hpp use.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include <cxxabi.h>
#include <nlohmann/json.hpp>

namespace muster {

namespace schema {

using Json = nlohmann::ordered_json;

// The schemas of all structs that are used, by name.
struct Definitions {
  std::map<std::string, Json> schemas = {};
  std::map<std::string, std::type_index> types = {};
};

template <class T>
[[nodiscard]] Json of(Definitions& all);

// Returns "Cpu" for muster::facts::Cpu, and "Device" for muster::bench::Traffic::Device.
template <class T>
[[nodiscard]] std::string name_of() {
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, nullptr), &std::free);
  const std::string full = text.get();
  return full.substr(full.rfind(':') + 1);
}

// The visitor that `fields` calls for each field. It adds one property for each.
class Properties {
 public:
  explicit Properties(Definitions& all) : all_(all) {}

  template <class T>
  void operator()(const char* name, T& /*value*/) {
    schema_["required"].push_back(name);
    schema_["properties"][name] = of<T>(all_);
  }
  template <class T>
  void maybe(const char* name, T& value) {
    if constexpr (requires { value.has_value(); }) {
      schema_["properties"][name] = of<typename T::value_type>(all_);  // absent, never null
    } else {
      schema_["properties"][name] = of<T>(all_);
    }
  }
  void lines(const char* name, std::string& value) { (*this)(name, value); }

  [[nodiscard]] const Json& schema() const { return schema_; }

 private:
  Definitions& all_;
  Json schema_ = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
};

template <class T>
[[nodiscard]] Json of_struct(Definitions& all) {
  Properties properties(all);
  T value{};
  fields(properties, value);
  return properties.schema();
}

template <class T>
struct Shape {
  static Json json(Definitions& all) {
    if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_same_v<T, std::string>) {
      return {{"type", "string"}};
    } else if constexpr (std::is_enum_v<T>) {
      Json words = Json::array();
      for (const auto& [value, text] : texts_of(T{})) words.push_back(text);
      return {{"enum", words}};
    } else {
      const std::string name = name_of<T>();
      const auto [known, is_new] = all.types.try_emplace(name, typeid(T));
      if (known->second != typeid(T)) throw std::logic_error("two structs have the name " + name);
      if (is_new) all.schemas[name] = of_struct<T>(all);  // a struct may contain itself
      return {{"$ref", "#/$defs/" + name}};
    }
  }
};

template <class T>
struct Shape<std::vector<T>> {
  static Json json(Definitions& all) { return {{"type", "array"}, {"items", of<T>(all)}}; }
};

template <class T>
struct Shape<std::optional<T>> {
  static Json json(Definitions& all) { return {{"anyOf", {of<T>(all), {{"type", "null"}}}}}; }
};

template <>
struct Shape<std::map<std::string, std::string>> {
  static Json json(Definitions& /*all*/) {
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
};

template <class T>
Json of(Definitions& all) {
  return Shape<T>::json(all);
}

}  // namespace schema

// Returns the schema of an object with the fields of T.
template <class T>
[[nodiscard]] nlohmann::ordered_json json_schema_of() {
  schema::Definitions all;
  nlohmann::ordered_json schema = schema::of_struct<T>(all);
  for (const auto& [name, definition] : all.schemas) schema["$defs"][name] = definition;
  return schema;
}

}  // namespace muster
