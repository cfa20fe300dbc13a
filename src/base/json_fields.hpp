// JSON of plain structs. The writer and the reader use the same description of a struct's fields.
// For a struct S, its namespace defines
//
//   template <class V> void fields(V& v, S& s) { v("name", s.name), v("size", s.size); }
//
// and for an enum E `texts_of(E)`, which returns all values with their texts. `v.maybe` describes a
// field that is absent when it is empty, `v.lines` a string of several lines. The reader does not
// trust its input: every other field must be present (unless the limits allow it to be missing),
// with the right type and within the limits. Strings become printable (see Texts). Unknown fields
// are ignored.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/printable.hpp"

namespace muster {

class FieldWriter {
 public:
  using Json = nlohmann::ordered_json;

  template <class T>
  void operator()(const char* name, T& value) {
    json_[name] = json_of(value);
  }
  template <class T>
  void maybe(const char* name, T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) (*this)(name, value);
    } else {
      if (!value.empty()) (*this)(name, value);
    }
  }
  void lines(const char* name, std::string& value) { (*this)(name, value); }

  template <class T>
  static Json json_of(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return Json(value);
    } else if constexpr (std::is_enum_v<T>) {
      for (const auto& [known, text] : texts_of(value)) {
        if (known == value) return Json(text);
      }
      return {};
    } else {
      FieldWriter writer;
      fields(writer, value);
      return writer.json_;
    }
  }
  template <class T>
  static Json json_of(std::vector<T>& items) {
    Json list = Json::array();
    for (T& item : items) list.push_back(json_of(item));
    return list;
  }
  template <class T>
  static Json json_of(std::optional<T>& value) {
    return value ? json_of(*value) : Json();
  }
  static Json json_of(std::map<std::string, std::string>& map) {
    Json object = Json::object();
    for (const auto& [name, value] : map) object[name] = value;
    return object;
  }

 private:
  Json json_ = Json::object();
};

// Remembers the first mistake and reads nothing after it.
class FieldReader {
 public:
  using Json = nlohmann::json;

  FieldReader(const Json& json, const JsonLimits& limits) : limits_(limits) { read(json); }

  template <class T>
  void operator()(const char* name, T& value) {
    if (!wrong_.empty()) return;
    const auto found = object_->find(name);
    path_.emplace_back(name);
    if (found != object_->end()) {
      take(*found, value);
    } else if (!limits_.may_lack_fields) {
      fail("is missing");
    }
    path_.pop_back();
  }
  template <class T>
  void maybe(const char* name, T& value) {
    if (wrong_.empty() && object_->contains(name)) (*this)(name, value);
  }
  void lines(const char* name, std::string& value) {
    several_lines_ = true;
    (*this)(name, value);
    several_lines_ = false;
  }

  // The first mistake, such as "interfaces.mtu is not a whole number"; empty if there is none.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void read(const Json& json) {
    object_ = &json;
    if (!json.is_object()) fail("is not an object");
  }

  void fail(const char* what) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", fmt::join(path_, "."), what);
  }

  [[nodiscard]] std::string cleaned(const std::string& text) const {
    if (limits_.texts == Texts::kExact) return text;
    return several_lines_ ? printable_lines(text) : printable(text);
  }

  void take(const Json& json, bool& value) {
    if (!json.is_boolean()) return fail("is neither true nor false");
    value = json.get<bool>();
  }
  void take(const Json& json, double& value) {
    if (!json.is_number()) return fail("is not a number");
    value = json.get<double>();
    if (!std::isfinite(value)) fail("is not a finite number");
  }
  template <class T>
    requires std::is_integral_v<T>
  void take(const Json& json, T& value) {
    if (!json.is_number_integer()) return fail("is not a whole number");
    const bool fits =
        json.is_number_unsigned()
            ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
            : std::is_signed_v<T> && json.get<std::int64_t>() >= std::int64_t(kLowest<T>);
    if (!fits) return fail("is out of range");
    value = json.get<T>();
  }
  void take(const Json& json, std::string& value) {
    if (!json.is_string()) return fail("is not text");
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > limits_.text_bytes) return fail("is too long");
    value = cleaned(text);
  }
  template <class T>
    requires std::is_enum_v<T>
  void take(const Json& json, T& value) {
    for (const auto& [known, text] : texts_of(value)) {
      if (json == text) return void(value = known);
    }
    fail("is not one of the allowed words");
  }
  template <class T>
  void take(const Json& json, std::vector<T>& items) {
    if (!json.is_array()) return fail("is not a list");
    if (json.size() > limits_.items) return fail("has too many items");
    items.clear();
    for (const Json& item : json) {
      if (!wrong_.empty()) return;
      take(item, items.emplace_back());
    }
  }
  template <class T>
  void take(const Json& json, std::optional<T>& value) {
    if (json.is_null()) return value.reset();
    take(json, value.emplace());
  }
  void take(const Json& json, std::map<std::string, std::string>& map) {
    if (!json.is_object()) return fail("is not an object");
    if (json.size() > limits_.items) return fail("has too many items");
    map.clear();
    for (const auto& [name, item] : json.items()) {
      if (!wrong_.empty()) return;
      if (name.size() > limits_.text_bytes) return fail("has a name that is too long");
      take(item, map[cleaned(name)]);
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void take(const Json& json, T& value) {
    const Json* const outer = object_;
    read(json);
    if (wrong_.empty()) fields(*this, value);
    object_ = outer;
  }

  template <class T>
  static constexpr T kLowest = std::numeric_limits<T>::lowest();

  JsonLimits limits_;
  const Json* object_ = nullptr;
  bool several_lines_ = false;
  std::vector<std::string> path_;
  std::string wrong_;
};

// Returns one line.
template <class T>
[[nodiscard]] std::string json_of_fields(const T& value) {
  return json_text(FieldWriter::json_of(const_cast<T&>(value)));  // the writer changes nothing
}

template <class T>
[[nodiscard]] std::string sorted_json_of_fields(const T& value, int indent = -1) {
  return sorted_json_text(FieldWriter::json_of(const_cast<T&>(value)), indent);
}

// The error holds only what is wrong ("rank is missing"), for a sentence of the caller.
template <class T>
[[nodiscard]] Result<T> read_fields(const std::string& text, const JsonLimits& limits = {}) {
  MUSTER_TRY(const auto json, parse_json(text, limits));
  T value{};
  FieldReader reader(json, limits);
  if (reader.wrong().empty()) fields(reader, value);
  if (!reader.wrong().empty()) return unexpected(Error{.what = printable(reader.wrong())});
  return value;
}

// `refusal` begins the error message, e.g. "these are not facts of a host".
template <class T>
[[nodiscard]] Result<T> parse_fields(const std::string& text, const std::string& refusal,
                                     const JsonLimits& limits = {}) {
  auto value = read_fields<T>(text, limits);
  if (!value) return unexpected(Error{.what = refusal + ": " + value.error().what});
  return value;
}

}  // namespace muster
