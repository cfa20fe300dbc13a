#include "programs/bench/lines.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace muster::programs::bench {

void Lines::print(const std::string& kind, const Json& fields) const {
  if (!speaks_) return;
  Json line = {{"muster_bench", 1}, {"kind", kind}};
  line.update(fields);
  const std::string text = json_text(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Lines::progress(const std::string& what, int done, int of, double left_s) const {
  print("progress", {{"what", what}, {"done", done}, {"of", of}, {"left_s", left_s}});
}

}  // namespace muster::programs::bench
