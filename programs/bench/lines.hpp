// The lines that rank 0 prints: one JSON object each, out at once, so that nothing is lost when the
// run is cut short.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace muster::programs::bench {

using Json = nlohmann::ordered_json;

class Lines {
 public:
  explicit Lines(bool speaks) : speaks_(speaks) {}

  void print(const std::string& kind, const Json& fields) const;
  void progress(const std::string& what, int done, int of, double left_s) const;

 private:
  bool speaks_;
};

}  // namespace muster::programs::bench
