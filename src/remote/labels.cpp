#include "remote/labels.hpp"

#include <cstddef>
#include <utility>

namespace muster::remote {
namespace {

// Longer lines are shown in pieces: a progress bar or a binary file may never end its line.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

}  // namespace

std::string Labels::take(std::string_view chunk) {
  std::string lines;
  for (std::size_t end = chunk.find('\n'); end != std::string_view::npos; end = chunk.find('\n')) {
    lines += label_ + std::exchange(unfinished_, {});
    lines += chunk.substr(0, end + 1);
    chunk.remove_prefix(end + 1);
  }
  unfinished_ += chunk;
  if (unfinished_.size() > kMaxLineBytes) lines += rest();
  return lines;
}

void Labels::drop_end(std::string_view text) {
  if (unfinished_.ends_with(text)) unfinished_.resize(unfinished_.size() - text.size());
}

std::string Labels::rest() {
  if (unfinished_.empty()) return {};
  return label_ + std::exchange(unfinished_, {}) + "\n";
}

}  // namespace muster::remote
