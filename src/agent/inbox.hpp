// Cuts the bytes of a connection into messages. A message is a line, which may announce a payload
// that follows it: "\x1e5 LINE\nHELLO". Nothing that a host's shell prints first begins like this.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

constexpr std::size_t kMaxLine = std::size_t{8} << 20;
constexpr std::size_t kMaxPayload = std::size_t{1} << 20;

struct Message {
  std::string line;     // without its newline and the payload's announcement
  std::string payload;  // empty: none
};

class Inbox {
 public:
  void add(std::string_view bytes);

  // The next whole message; nothing if more bytes are needed.
  [[nodiscard]] std::optional<Message> next();

  // Bytes that have arrived but were not returned by next().
  [[nodiscard]] std::string_view rest() const { return std::string_view(received_).substr(taken_); }

  // The other side has sent a line or payload that is too long, or a length that is no number.
  // Nothing after that can be parsed.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::string received_;
  std::size_t taken_ = 0;  // bytes of received_
  bool broken_ = false;
};

// A message of this line, which must end with a newline, and this payload.
[[nodiscard]] std::string with_payload(std::string_view line, std::string_view payload);

}  // namespace muster::agent
