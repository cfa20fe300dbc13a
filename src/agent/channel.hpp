// Lines to and from the launcher over two descriptors, without ever waiting.
#pragma once

#include <optional>
#include <string>

#include "sys/file.hpp"

namespace muster::agent {

class Channel {
 public:
  Channel() = default;
  Channel(sys::Fd in, sys::Fd out);

  [[nodiscard]] bool open() const { return in_.valid(); }
  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }

  // Reads what is there; closes at the end of the input, and on a line beyond the limit.
  void receive();
  // The next whole line, without its newline.
  [[nodiscard]] std::optional<std::string> next_line();

  // Queues and sends as much as can be sent.
  void send(const std::string& line);
  void flush();
  void close();

 private:
  sys::Fd in_;
  sys::Fd out_;
  std::string received_;
  std::size_t taken_ = 0;  // of received_
  std::string unsent_;
};

}  // namespace muster::agent
