#include "base/printable.hpp"

#include "base/characters.hpp"

namespace muster {
namespace {

std::string cleaned(std::string_view text, bool several_lines) {
  std::string clean;
  clean.reserve(text.size());
  for (Character next; !text.empty(); text.remove_prefix(next.bytes)) {
    next = first_character(text);
    if (several_lines && text.starts_with("\r\n")) continue;
    if (is_graphic(next.code) || (several_lines && next.code == '\n')) {
      clean += text.substr(0, next.bytes);
    } else {
      clean += '?';
    }
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) {
  return cleaned(text, false);
}

std::string printable_lines(std::string_view text) {
  return cleaned(text, true);
}

}  // namespace muster
