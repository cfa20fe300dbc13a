#include "run/log_folds.hpp"

#include <limits>
#include <utility>

#include "base/colour.hpp"
#include "run/log_filter.hpp"

namespace muster::run {

LogFolds::LogFolds(Put put, bool colours)
    : put_(std::move(put)), colours_(colours), folding_(std::numeric_limits<int>::max(), true) {}

void LogFolds::take(sys::Stream stream, std::string_view bytes) {
  std::string& text = unfinished_[stream];
  text += bytes;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    take_line(stream, std::string_view(text).substr(from, end + 1 - from));
  }
  text.erase(0, from);
}

void LogFolds::take_line(sys::Stream stream, std::string_view line) {
  const LabelledLine parts = split_label(line);
  if (parts.rank < 0) {
    put(folding_.take_all());
    return put_(stream, line);
  }
  const Source from{.rank = parts.rank, .host = std::string(parts.host)};
  folding_.add(stream, from, parts.text, false, Folding::Clock::now());
}

void LogFolds::put_due() {
  put(folding_.take_due(Folding::Clock::now()));
}

void LogFolds::put_all() {
  put(folding_.take_all());
  for (auto& [stream, text] : unfinished_) {
    if (!text.empty()) put_(stream, std::exchange(text, ""));
  }
}

void LogFolds::put(const std::vector<Folding::Line>& lines) const {
  for (const Folding::Line& line : lines) {
    const auto colour = line.stream == sys::Stream::kOut ? Colour::kCyan : Colour::kYellow;
    put_(line.stream, painted(label_of(line.from), colour, colours_) + " " + line.text);
  }
}

}  // namespace muster::run
