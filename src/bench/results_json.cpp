#include <type_traits>

#include <fmt/format.h>

#include "base/json_fields.hpp"
#include "bench/result_fields.hpp"
#include "bench/results.hpp"

namespace muster::bench {
namespace {

constexpr const char* kResults = "these are not results of a bench";

// Numbers that some cluster could have: what draws and adds them up need not fear any other.
class Bounds {
 public:
  void operator()(const char* name, double& value) {
    constexpr double kLeast = 1e-12;
    constexpr double kMost = 1e15;
    if (value != 0 && (value < kLeast || value > kMost)) odd_ = name;
  }
  template <class T>
    requires std::is_integral_v<T>
  void operator()(const char* name, T& value) {
    constexpr std::int64_t kMost = 100'000'000'000'000;
    if (static_cast<std::int64_t>(value) < -1 || static_cast<std::int64_t>(value) > kMost) {
      odd_ = name;
    }
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& items) {
    for (T& item : items) (*this)(name, item);
  }
  void operator()(const char*, std::string&) {}
  void lines(const char*, std::string&) {}
  template <class T>
    requires std::is_enum_v<T>
  void operator()(const char*, T&) {}
  template <class T>
    requires std::is_class_v<T>
  void operator()(const char*, T& value) {
    fields(*this, value);
  }

  [[nodiscard]] const std::string& odd() const { return odd_; }

 private:
  std::string odd_;  // name of a field; empty: none
};

}  // namespace

// Comes first in the file: whoever reads it knows what to expect of the rest.
struct Schema {
  int schema = kSchema;
};

template <class V>
void fields(V& v, Schema& s) {
  v("schema", s.schema);
}

struct Versioned {
  Schema schema = {};
  Results results;
};

template <class V>
void fields(V& v, Versioned& r) {
  fields(v, r.schema);
  fields(v, r.results);
}

std::string to_json(const Results& results) {
  return json_of_fields(Versioned{.results = results});
}

Result<Results> parse_results(const std::string& json) {
  MUSTER_TRY(const Schema found, parse_fields<Schema>(json, kResults));
  if (found.schema != kSchema) {
    return unexpected(Error{
        .what =
            fmt::format("these results have format version {}, but this muster reads version {}",
                        found.schema, kSchema),
        .hint =
            "measure again with this muster, or read the results with the muster that wrote them"});
  }
  MUSTER_TRY(Results results, parse_fields<Results>(json, kResults));
  Bounds bounds;
  fields(bounds, results);
  if (bounds.odd().empty()) return results;
  return unexpected(
      Error{.what = fmt::format("{}: the value of {} is impossible", kResults, bounds.odd())});
}

}  // namespace muster::bench
