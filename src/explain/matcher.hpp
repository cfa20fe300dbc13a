// Finds the failures of the catalogue in a line: all patterns at once, in time linear in its
// length.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.hpp"

namespace muster::explain {

// What one pattern found.
struct Match {
  const catalogue::Failure* failure = nullptr;
  std::size_t pattern = 0;  // for values_of
};

class Matcher {
 public:
  // `failures` outlive it. It takes a while, so one matcher should serve many logs.
  explicit Matcher(const std::vector<catalogue::Failure>& failures);
  ~Matcher();

  // `is_odd`: whether the line has a word such as "error".
  [[nodiscard]] std::vector<Match> find(std::string_view line, bool& is_odd) const;
  // By the names in the pattern, printable: "port" -> "29500".
  [[nodiscard]] std::map<std::string, std::string> values_of(const Match& match,
                                                             std::string_view line) const;

 private:
  class Patterns;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace muster::explain
