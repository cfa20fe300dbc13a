// Which lines of a run's stored output somebody wants to see. Pure.
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

// A POSIX extended regular expression, as `grep -E` takes it.
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
  std::optional<sys::Stream> stream;  // nothing: both
  std::optional<Pattern> pattern;
  bool labels = true;
};

// "0,4-7" as numbers; at most kMostRanks of them.
[[nodiscard]] Result<std::set<int>> parse_ranks(std::string_view text);

// A stored line "[n1:3] text". Without such a label: no host, rank -1, and all of it is the text.
struct LabelledLine {
  std::string_view host = {};
  int rank = -1;
  std::string_view text;
};
[[nodiscard]] LabelledLine split_label(std::string_view line);

class LogFilter {
 public:
  explicit LogFilter(LogWish wish);

  // What is to be shown of these bytes. A line that is not complete is held back, if its end can
  // make a difference.
  [[nodiscard]] std::string take(sys::Stream stream, std::string_view bytes);
  // What was held back of lines that never ended.
  [[nodiscard]] std::string rest();

 private:
  [[nodiscard]] std::string shown(std::string_view line) const;
  [[nodiscard]] bool is_wanted(const LabelledLine& line) const;

  LogWish wish_;
  bool takes_all_;
  std::map<sys::Stream, LineBuffer> unfinished_;
};

}  // namespace muster::run
