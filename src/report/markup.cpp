#include "report/markup.hpp"

#include <cstdint>
#include <vector>

namespace muster::report {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";
constexpr std::uint32_t kNone = 0xFFFFFFFF;

// The character at the start of `text` and, in `length`, its bytes; kNone: no UTF-8.
std::uint32_t first_character(std::string_view text, std::size_t& length) {
  const auto lead = static_cast<unsigned char>(text[0]);
  length = 1;
  if (lead < 0x80) return lead;
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() <= more) return kNone;
  std::uint32_t code = lead & (0x3FU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return kNone;
    code = code << 6 | (byte & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[more] || code > 0x10FFFF) return kNone;
  length = more + 1;
  return code;
}

bool is_shown(std::uint32_t code) {
  if (code == kNone || (code < 0x20 && code != '\n') || (code >= 0x7F && code < 0xA0)) return false;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool none = (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !surrogate && !none && !turns;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    const std::uint32_t code = first_character(text, length);
    if (code == '<') {
      safe += "&lt;";
    } else if (code == '>') {
      safe += "&gt;";
    } else if (code == '&') {
      safe += "&amp;";
    } else if (code == '"') {
      safe += "&quot;";
    } else if (code == '\'') {
      safe += "&#39;";
    } else {
      safe += is_shown(code) ? text.substr(0, length) : std::string_view(kReplacement);
    }
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t characters) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    (void)first_character(text.substr(at), length);
    starts.push_back(at);
  }
  if (starts.size() <= characters || characters < 3) return std::string(text);
  const std::size_t back = (characters - 1) / 2, front = characters - 1 - back;
  return std::string(text.substr(0, starts[front])) + "\u2026" +
         std::string(text.substr(starts[starts.size() - back]));
}

}  // namespace muster::report
