// Small files of /proc, /sys and /etc. What cannot be read is empty: a probe that needs to tell the
// two apart looks for itself.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

// Its first `max_bytes` at most: the kernel makes up such files as they are read, so that the rest
// costs nothing. Nothing: it cannot be read, as with the unused entries of some tables in /sys.
[[nodiscard]] std::optional<std::string> read_start(const std::string& path,
                                                    std::size_t max_bytes = std::size_t{64} << 10);

// Its first line without white space around it.
[[nodiscard]] std::string first_line(const std::string& path);

// The names in a folder, sorted, numbers in them by value; without "." and "..".
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// Splits at each `separator`; an empty text has no parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Splits at white space; no part is empty.
[[nodiscard]] std::vector<std::string_view> words(std::string_view text);

// The whole text as a number.
template <class T>
[[nodiscard]] std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster::facts
