// Messages to and from another process over two descriptors, without ever blocking.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/inbox.hpp"
#include "sys/file.hpp"

namespace muster::agent {

class Channel {
 public:
  Channel() = default;
  Channel(sys::Fd in, sys::Fd out);
  // Over a local socket, on which the other side may send descriptors too.
  explicit Channel(sys::Fd socket);

  [[nodiscard]] bool open() const { return in_.valid(); }
  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool has_unsent() const { return unsent() > 0; }
  [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }

  // Reads what has arrived, up to about `most` bytes. Closes at the end of the input, and on bytes
  // that cannot be a message.
  void receive(std::size_t most = kMaxLine);
  // The next whole message. Messages that arrived before the input ended are still returned.
  [[nodiscard]] std::optional<Message> next() { return inbox_.next(); }

  // Descriptors that came over a local socket since the last call.
  [[nodiscard]] std::vector<sys::Fd> take_descriptors() { return std::exchange(descriptors_, {}); }

  // Bytes that have arrived but were not returned by next().
  [[nodiscard]] std::string_view rest() const { return inbox_.rest(); }

  // Queues and sends as much as can be sent.
  void send(std::string_view bytes);
  void flush();
  void close();

 private:
  sys::Fd in_;
  sys::Fd out_;
  bool is_socket_ = false;
  std::vector<sys::Fd> descriptors_;
  Inbox inbox_;
  std::string unsent_;
  std::size_t sent_ = 0;  // bytes of unsent_
};

}  // namespace muster::agent
