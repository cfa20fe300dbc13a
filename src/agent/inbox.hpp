// Splits the bytes of a connection into messages. A message is a line, which may announce a payload
// that follows it: "\x1e5 LINE\nHELLO". A host's shell may print text before the first message, but
// none that begins with "\x1e". Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

constexpr std::size_t kMaxLine = std::size_t{8} << 20;
constexpr std::size_t kMaxPayload = std::size_t{1} << 20;

struct Message {
  std::string line;     // without its newline and the announcement of the payload
  std::string payload;  // empty: none
};

class Inbox {
 public:
  void add(std::string_view bytes);

  // Returns the next whole message, or nothing if more bytes are needed.
  [[nodiscard]] std::optional<Message> next();

  // Bytes that have arrived but that next() has not returned.
  [[nodiscard]] std::string_view rest() const { return std::string_view(received_).substr(taken_); }

  // Whether the other side has sent a line or payload that is too long, or a length that is not a
  // number. Nothing after it can be parsed.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::string received_;
  std::size_t taken_ = 0;  // how many bytes of received_ next() has returned
  bool broken_ = false;
};

// Makes a message of this line, which must end with a newline, and this payload.
[[nodiscard]] std::string with_payload(std::string_view line, std::string_view payload);

}  // namespace muster::agent
