#include "agent/inbox.hpp"

#include <charconv>

#include <fmt/format.h>

namespace muster::agent {

namespace {

constexpr char kAnnounces = '\x1e';
constexpr std::size_t kWorthCutting = std::size_t{64} << 10;

}  // namespace

void Inbox::add(std::string_view bytes) {
  if (taken_ > kWorthCutting) {
    received_.erase(0, taken_);
    taken_ = 0;
  }
  received_.append(bytes);
}

std::optional<Message> Inbox::next() {
  if (broken_) return std::nullopt;
  const std::string_view rest = std::string_view(received_).substr(taken_);
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) {
    broken_ = rest.size() > kMaxLine;
    received_.erase(0, taken_);
    taken_ = 0;
    // The facts of a host are by far its longest message, and a launcher has many hosts.
    if (received_.empty() && received_.capacity() > kWorthCutting) received_.shrink_to_fit();
    return std::nullopt;
  }
  std::string_view line = rest.substr(0, end);
  std::size_t payload = 0;
  if (line.starts_with(kAnnounces)) {
    const auto [stop, bad] = std::from_chars(line.data() + 1, line.data() + line.size(), payload);
    const bool has_space = stop < line.data() + line.size() && *stop == ' ';
    if (bad != std::errc() || !has_space || payload > kMaxPayload) {
      broken_ = true;
      return std::nullopt;
    }
    line.remove_prefix(static_cast<std::size_t>(stop - line.data()) + 1);
  }
  if (rest.size() < end + 1 + payload) return std::nullopt;
  Message message{.line = std::string(line), .payload = std::string(rest.substr(end + 1, payload))};
  taken_ += end + 1 + payload;
  return message;
}

std::string with_payload(std::string_view line, std::string_view payload) {
  return fmt::format("{}{} {}{}", kAnnounces, payload.size(), line, payload);
}

}  // namespace muster::agent
