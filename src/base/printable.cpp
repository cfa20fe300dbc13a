#include "base/printable.hpp"

namespace muster {
namespace {

char shown(char byte) {
  return byte >= ' ' && byte <= '~' ? byte : '?';
}

}  // namespace

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& byte : clean) byte = shown(byte);
  return clean;
}

std::string printable_lines(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    clean += text[i] == '\n' ? '\n' : shown(text[i]);
  }
  return clean;
}

}  // namespace muster
