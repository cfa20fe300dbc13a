#include <fmt/format.h>

#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "bench/bounds.hpp"
#include "bench/result_fields.hpp"
#include "bench/results.hpp"

namespace muster::bench {
namespace {

constexpr const char* kResults = "these are not results of a bench";

}  // namespace

// The schema's number comes first in the file, so that a reader knows what to expect of the rest.
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
  return parse_possible<Results>(json, kResults);
}

nlohmann::ordered_json results_schema() {
  return json_schema_of<Versioned>();
}

}  // namespace muster::bench
