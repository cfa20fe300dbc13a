// Shows stored output as `muster run` shows it on a terminal: equal lines of several ranks once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "run/folding.hpp"
#include "run/lines.hpp"

namespace muster::run {

class LogFolds {
 public:
  using Put = std::function<void(sys::Stream, std::string_view)>;

  LogFolds(Put put, bool colours);

  // Takes labelled lines as they are stored. The last one may be unfinished.
  void take(sys::Stream stream, std::string_view bytes);
  // Show lines that have waited long enough for equal ones, or all waiting lines.
  void put_due();
  void put_all();
  [[nodiscard]] bool empty() const { return folding_.empty(); }

 private:
  void take_line(sys::Stream stream, std::string_view line);
  void put(const std::vector<Folding::Line>& lines) const;

  Put put_;
  bool colours_;
  Folding folding_;
  std::map<sys::Stream, LineBuffer> unfinished_;
};

}  // namespace muster::run
