// Exchanges messages with another process over two descriptors and never blocks.
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
  // For a local socket, over which the other side may also send descriptors.
  explicit Channel(sys::Fd socket);

  [[nodiscard]] bool open() const { return in_.valid(); }
  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool has_unsent() const { return unsent() > 0; }
  [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }

  // Reads what has arrived, up to about `most` bytes. Closes the channel at the end of the input,
  // or if the bytes cannot be a message.
  void receive(std::size_t most = kMaxLine);
  // Returns the next whole message. Messages that arrived before the input ended are still
  // returned.
  [[nodiscard]] std::optional<Message> next() { return inbox_.next(); }

  // Returns the descriptors that came over a local socket since the last call.
  [[nodiscard]] std::vector<sys::Fd> take_descriptors() { return std::exchange(descriptors_, {}); }

  // Bytes that have arrived but that next() has not returned.
  [[nodiscard]] std::string_view rest() const { return inbox_.rest(); }

  // Queues the bytes and sends as many as can be sent without blocking.
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
  std::size_t sent_ = 0;  // how many bytes of unsent_ have been sent
};

}  // namespace muster::agent
