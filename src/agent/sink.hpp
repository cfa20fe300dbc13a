// The engine's end of a rank's output. Engines read at most 4096 bytes at a time and write the
// pieces of different ranks one after another, so a line that is read in two pieces is torn. A
// block is therefore written only when, with what is still unread, it fits into one such read.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "agent/reader_watch.hpp"
#include "sys/file.hpp"

namespace muster::agent {

class Sink {
 public:
  using Clock = std::chrono::steady_clock;

  // Does not own `fd`, and does not change its flags: other processes share them.
  explicit Sink(int fd);

  [[nodiscard]] std::size_t max_block() const;     // bytes that go in one piece
  [[nodiscard]] std::size_t wanted_block() const;  // bytes up to which lines are put together

  // Writes `block`, or as much of it as goes without waiting, possibly nothing; then `pause` tells
  // how long to wait before the next try. Returns the bytes that are done with: all of them when
  // nobody reads any more.
  [[nodiscard]] std::size_t put(std::string_view block);
  [[nodiscard]] std::chrono::nanoseconds pause() const { return pause_; }

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] bool full() const { return full_; }  // poll for POLLOUT, not for time
  [[nodiscard]] int fd() const { return own_.valid() ? own_.get() : fd_; }
  void close() { closed_ = true; }

 private:
  enum class Kind { kPipe, kTerminal, kSocket, kOther };

  [[nodiscard]] bool has_room(std::size_t bytes);
  [[nodiscard]] bool terminal_has_room(std::size_t bytes);
  void back_off();
  [[nodiscard]] ssize_t write_now(std::string_view block) const;

  int fd_;
  sys::Fd own_;  // the same pipe or terminal, opened once more so that it does not block
  Kind kind_ = Kind::kOther;
  bool closed_ = false;
  bool full_ = false;
  std::chrono::nanoseconds pause_{0};
  // A terminal does not tell what is unread.
  std::optional<ReaderWatch> reader_;
  std::size_t maybe_unread_ = 0;
  int unanswered_ = 0;  // waits in a row that the watch did not end
  Clock::time_point last_write_ = {};
};

}  // namespace muster::agent
