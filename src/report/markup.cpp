#include "report/markup.hpp"

#include <cstdint>
#include <vector>

#include "base/characters.hpp"

namespace muster::report {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

bool is_shown(std::uint32_t code) {
  return code == '\n' || is_graphic(code);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    const auto [code, bytes] = first_character(text);
    length = bytes;
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
  for (std::size_t at = 0; at < text.size(); at += first_character(text.substr(at)).bytes) {
    starts.push_back(at);
  }
  if (starts.size() <= characters || characters < 3) return std::string(text);
  const std::size_t back = (characters - 1) / 2, front = characters - 1 - back;
  return std::string(text.substr(0, starts[front])) + "\u2026" +
         std::string(text.substr(starts[starts.size() - back]));
}

}  // namespace muster::report
