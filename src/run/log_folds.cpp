#include "run/log_folds.hpp"

#include <limits>
#include <utility>

#include "run/log_filter.hpp"

namespace muster::run {

LogFolds::LogFolds(Put put, bool colours)
    : put_(std::move(put)), colours_(colours), folding_(std::numeric_limits<int>::max(), true) {}

void LogFolds::take(sys::Stream stream, std::string_view bytes) {
  unfinished_[stream].take(bytes, [&](std::string_view line) { take_line(stream, line); });
}

void LogFolds::take_line(sys::Stream stream, std::string_view line) {
  const LabelledLine parts = split_label(line);
  if (parts.rank < 0) {
    put(folding_.take_all());
    return put_(stream, line);
  }
  const Source from{.rank = parts.rank, .host = std::string(parts.host)};
  folding_.add(stream, from, parts.text, false, Folding::Clock::now());
  if (folding_.is_full()) put_due();
}

void LogFolds::put_due() {
  put(folding_.take_due(Folding::Clock::now()));
}

void LogFolds::put_all() {
  put(folding_.take_all());
  for (auto& [stream, buffer] : unfinished_) {
    if (const std::string text = buffer.take_rest(); !text.empty()) put_(stream, text);
  }
}

void LogFolds::put(const std::vector<Folding::Line>& lines) const {
  for (const Folding::Line& line : lines) {
    put_(line.stream, painted_label(line.stream, line.from, colours_) + " " + line.text);
  }
}

}  // namespace muster::run
