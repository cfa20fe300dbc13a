// Queries to the kernel's routing socket (netlink).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::facts {

using Attributes = std::map<std::uint16_t, std::string_view>;

// One message of an answer: its fixed part, and the attributes that follow it, by type. Points into
// Answers::buffers.
struct Message {
  std::uint16_t type = 0;
  std::string_view fixed;
  Attributes attributes;
};

// Parses attributes in the kernel's format. A truncated one ends the list.
[[nodiscard]] Attributes parse_attributes(std::string_view bytes);

// The bytes of one attribute; empty if it is missing.
[[nodiscard]] std::string_view bytes_of(const Attributes& attributes, std::uint16_t type);

// Reads the bytes as a number or struct. Missing bytes become zeros.
template <class T>
[[nodiscard]] T value_of(std::string_view bytes) {
  T value{};
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

// The text of an address; empty if the bytes are not an address of this family.
[[nodiscard]] std::string ip_text(int family, std::string_view bytes);

struct Answers {
  std::vector<std::string> buffers;  // the messages point into these
  std::vector<Message> messages;
};

// Adds the messages in `bytes` to `answers`, which must not outlive `bytes`. `fixed_bytes` is the
// size of the struct before the attributes. Returns true if the last message was among them. Leaves
// out truncated messages.
[[nodiscard]] Result<bool> take_messages(std::string_view bytes, std::size_t fixed_bytes,
                                         Answers& answers);

// Returns all objects of one kind: `type` is RTM_GETLINK, RTM_GETADDR or RTM_GETROUTE. Waits at
// most 2 s for each part of the answer.
[[nodiscard]] Result<Answers> ask_kernel(std::uint16_t type, std::uint8_t family,
                                         std::size_t fixed_bytes);

}  // namespace muster::facts
