#include "agent/line_blocks.hpp"

#include <algorithm>

namespace muster::agent {

void LineBlocks::add(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!in_line_) text_ += label_;
    const std::size_t room = max_block_ - (text_.size() - ready_);
    const std::size_t newline = bytes.substr(0, room).find('\n');
    const bool whole = newline != std::string_view::npos;
    const std::size_t length = whole ? newline + 1 : std::min(room, bytes.size());
    text_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
    in_line_ = !whole;
    if (whole || length == room) ready_ = text_.size();
  }
}

void LineBlocks::say(std::string_view line) {
  if (in_line_) add("\n");
  add(line);
}

void LineBlocks::finish() {
  if (in_line_ && !label_.empty()) text_ += '\n';
  in_line_ = false;
  ready_ = text_.size();
}

std::string_view LineBlocks::next(std::size_t wanted) const {
  const std::string_view all = std::string_view(text_).substr(taken_, waiting());
  const std::size_t limit = std::min(wanted, max_block_);
  if (all.size() <= limit) return all;
  const std::size_t last = all.substr(0, limit).rfind('\n');
  if (last != std::string_view::npos) return all.substr(0, last + 1);
  const std::size_t first = all.substr(0, max_block_).find('\n');
  return all.substr(0, first == std::string_view::npos ? max_block_ : first + 1);
}

void LineBlocks::take(std::size_t bytes) {
  taken_ += bytes;
  // Moving what is left costs; it is done once for many blocks.
  if (taken_ != text_.size() && taken_ < (std::size_t{64} << 10)) return;
  text_.erase(0, taken_);
  ready_ -= taken_;
  taken_ = 0;
}

}  // namespace muster::agent
