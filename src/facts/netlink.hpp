// Questions to the kernel's routing socket.
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

// One answer: the fixed part and the attributes behind it, by their type. Views into Answers.
struct Message {
  std::uint16_t type = 0;
  std::string_view fixed;
  Attributes attributes;
};

// Attributes as the kernel packs them; what is cut off or too short ends the list.
[[nodiscard]] Attributes parse_attributes(std::string_view bytes);

// The bytes of one attribute; none: it is not there.
[[nodiscard]] std::string_view bytes_of(const Attributes& attributes, std::uint16_t type);

// The bytes as a number or a struct, zeros for what is missing.
template <class T>
[[nodiscard]] T value_of(std::string_view bytes) {
  T value{};
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

// An address as people write it; empty: the bytes are none of that family.
[[nodiscard]] std::string ip_text(int family, std::string_view bytes);

struct Answers {
  std::vector<std::string> buffers;  // what the messages look into
  std::vector<Message> messages;
};

// Adds the messages in `bytes`, which must outlive `answers`; `fixed_bytes` is the size of the
// struct in front of the attributes. True: the last message was among them. What is cut off is left
// out.
[[nodiscard]] Result<bool> take_messages(std::string_view bytes, std::size_t fixed_bytes,
                                         Answers& answers);

// Everything of one kind: `type` is RTM_GETLINK, RTM_GETADDR or RTM_GETROUTE. Waits 2 s at most
// for each piece.
[[nodiscard]] Result<Answers> ask_kernel(std::uint16_t type, std::uint8_t family,
                                         std::size_t fixed_bytes);

}  // namespace muster::facts
