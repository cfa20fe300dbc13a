// Splits text into lines; each line includes its newline.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace muster::run {

// Calls `use` for each line. The last line may lack its newline.
template <typename Use>
void for_each_line(std::string_view lines, const Use& use) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    use(lines.substr(0, end));
    lines.remove_prefix(end);
  }
}

// Collects a stream that arrives in pieces, and passes each line on when it is complete.
class LineBuffer {
 public:
  template <typename Use>
  void take(std::string_view bytes, const Use& use) {
    // rfind gives npos if there is none; npos + 1 is 0.
    const std::size_t complete = bytes.rfind('\n') + 1;
    if (complete > 0)
      for_each_line(std::exchange(unfinished_, {}) += bytes.substr(0, complete), use);
    unfinished_ += bytes.substr(complete);
  }
  [[nodiscard]] std::string take_rest() { return std::exchange(unfinished_, {}); }

 private:
  std::string unfinished_;
};

}  // namespace muster::run
