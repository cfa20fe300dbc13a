#include "setup/printable.hpp"

#include <algorithm>

namespace muster::setup {

std::string printable(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c != '\n' && (c < ' ' || c > '~'); }, '?');
  return clean;
}

}  // namespace muster::setup
