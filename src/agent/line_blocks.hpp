// Lines of one rank, labelled, and cut into blocks that an engine carries in one piece. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::agent {

class LineBlocks {
 public:
  // A line that does not fit into `max_block` bytes is passed on in pieces; only the first has the
  // label.
  LineBlocks(std::string label, std::size_t max_block)
      : label_(std::move(label)), max_block_(max_block) {}

  void add(std::string_view bytes);
  // A line of somebody else's, with its newline; an unfinished line is broken off before it.
  void say(std::string_view line);
  // The stream has ended: an unfinished line is finished. Unlabelled, bytes stay what they are.
  void finish();

  // Whole lines that can go now, as many as fit into `wanted` bytes but one at least, and at most
  // `max_block` bytes. Empty: there are none. Valid until the next call that is not const.
  [[nodiscard]] std::string_view next(std::size_t wanted) const;
  // `bytes` of what `next` gave are done.
  void take(std::size_t bytes);

  [[nodiscard]] std::size_t waiting() const { return ready_ - taken_; }

 private:
  std::string label_;
  std::size_t max_block_;
  std::string text_;       // labelled; whole lines or pieces, then the unfinished line
  std::size_t taken_ = 0;  // of it, done
  std::size_t ready_ = 0;  // of it, may go
  bool in_line_ = false;   // the next byte does not begin a line
};

}  // namespace muster::agent
