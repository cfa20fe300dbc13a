// The lines that rank 0 prints: one JSON object each. Each is flushed at once, so that nothing is
// lost if the run is interrupted.
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
