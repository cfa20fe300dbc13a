// Cuts what comes over a connection into messages. A message is a line, which may announce bytes
// that follow it: "\x1e5 LINE\nHELLO". What a host's shell prints before never begins so. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

constexpr std::size_t kMaxLine = std::size_t{8} << 20;
constexpr std::size_t kMaxPayload = std::size_t{1} << 20;

struct Message {
  std::string line;     // without its newline and without what announces the payload
  std::string payload;  // empty: none
};

class Inbox {
 public:
  void add(std::string_view bytes);

  // The next whole message; nothing: more bytes must come first.
  [[nodiscard]] std::optional<Message> next();

  // What has come and was not taken.
  [[nodiscard]] std::string_view rest() const { return std::string_view(received_).substr(taken_); }

  // The other side sends lines or payloads that are too long, or no number where one must be:
  // nothing more can be understood.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::string received_;
  std::size_t taken_ = 0;  // of received_
  bool broken_ = false;
};

// The line, which ends with a newline, with its payload.
[[nodiscard]] std::string with_payload(std::string_view line, std::string_view payload);

}  // namespace muster::agent
