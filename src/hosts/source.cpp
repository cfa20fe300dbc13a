#include "hosts/source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::hosts {
namespace {

bool is_printable(char byte) {
  return byte >= ' ' && byte <= '~';
}

}  // namespace

Error Source::refuse(std::size_t offset, std::string what, std::string hint) const {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // if there is none, npos + 1 is 0
  const auto in_line = static_cast<int>(before.size() - line_start);
  Error error{.code = ErrorCode::kUsage, .what = std::move(what)};
  error.where.file = name;
  error.where.line = line + static_cast<int>(lines);
  error.where.column = (lines == 0 ? column : 1) + in_line;
  error.hint = std::move(hint);
  return error;
}

Source without_utf8_mark(Source source) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (source.text.starts_with(kMark)) source.text.remove_prefix(kMark.size());
  return source;
}

std::string describe(char byte) {
  if (is_printable(byte)) return fmt::format("'{}'", byte);
  return fmt::format("byte 0x{:02x}", static_cast<unsigned char>(byte));
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return fmt::format("'{}{}'", printable(text.substr(0, kLongest)),
                     text.size() > kLongest ? "..." : "");
}

}  // namespace muster::hosts
