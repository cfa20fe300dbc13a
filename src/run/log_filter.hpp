// Selects lines of a run's stored output. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "run/lines.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// A POSIX extended regular expression, as in `grep -E`.
class Pattern {
 public:
  [[nodiscard]] static Result<Pattern> compile(const std::string& text);
  [[nodiscard]] bool is_in(std::string_view line) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

struct LogWish {
  std::set<int> ranks = {};           // empty: all
  std::set<std::string> hosts = {};   // empty: all
  std::optional<sys::Stream> stream;  // no value: both
  std::optional<Pattern> pattern;
  bool labels = true;
};

// Reads a list such as "0,4-7". Fails if it stands for more than 1,000,000 ranks.
[[nodiscard]] Result<std::set<int>> parse_ranks(std::string_view text);

// The parts of a stored line "[n1:3] text". A line without such a label has no host, has rank -1,
// and is all text.
struct LabelledLine {
  std::string_view host = {};
  int rank = -1;
  std::string_view text;
};
[[nodiscard]] LabelledLine split_label(std::string_view line);

class LogFilter {
 public:
  explicit LogFilter(LogWish wish);

  // Returns the selected part of these bytes. Holds back an incomplete line until its end arrives,
  // unless every line is selected.
  [[nodiscard]] std::string take(sys::Stream stream, std::string_view bytes);
  // Returns the selected ones of the lines that were held back and never ended.
  [[nodiscard]] std::string rest();

 private:
  [[nodiscard]] std::string shown(std::string_view line) const;
  [[nodiscard]] bool is_wanted(const LabelledLine& line) const;

  LogWish wish_;
  bool takes_all_;
  std::map<sys::Stream, LineBuffer> unfinished_;
};

}  // namespace muster::run
