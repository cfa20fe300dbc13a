// Finds failures of the catalogue in a line. Searches for all patterns at once, in time linear in
// the length of the line.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.hpp"

namespace muster::explain {

// A pattern that matched.
struct Match {
  const catalogue::Failure* failure = nullptr;
  std::size_t pattern = 0;  // identifies it for values_of
};

class Matcher {
 public:
  // `failures` must outlive the matcher. Construction is slow, so use one matcher for many logs.
  explicit Matcher(const std::vector<catalogue::Failure>& failures);
  ~Matcher();

  // Sets `is_odd` if the line contains a word such as "error".
  [[nodiscard]] std::vector<Match> find(std::string_view line, bool& is_odd) const;
  // Returns the values of the named groups, made printable: "port" -> "29500".
  [[nodiscard]] std::map<std::string, std::string> values_of(const Match& match,
                                                             std::string_view line) const;

 private:
  class Patterns;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace muster::explain
