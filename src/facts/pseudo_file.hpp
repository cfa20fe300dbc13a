// Small files of /proc, /sys and /etc. Most functions return an empty value for a file that cannot
// be read. A probe that must distinguish this from an empty file has to check the file itself.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

// Reads at most the first `max_bytes`. The kernel generates such files while they are read, so the
// rest costs nothing. Nothing if the file cannot be read, as with unused entries of some tables in
// /sys.
[[nodiscard]] std::optional<std::string> read_start(const std::string& path,
                                                    std::size_t max_bytes = std::size_t{64} << 10);

// The first line of the file, without white space around it.
[[nodiscard]] std::string first_line(const std::string& path);

// The names in a folder without "." and "..", sorted so that numbers in them are compared by value.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// Splits at each `separator`. An empty text has no parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Splits at white space. No part is empty.
[[nodiscard]] std::vector<std::string_view> words(std::string_view text);

// Parses the whole text as a number.
template <class T>
[[nodiscard]] std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster::facts
