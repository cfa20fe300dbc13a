// Breaks text for people into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::report {

// Breaks `text` at newlines and blanks into lines of at most `width` bytes. Drops empty lines. A
// longer word gets its own line and is never broken: it may be a path or a command to paste. No
// line ends in a blank. Empty text gives no lines.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Like wrap, but returns at most `most` lines and cuts words that are too long. "..." marks omitted
// text.
[[nodiscard]] std::vector<std::string> cut_lines(std::string_view text, std::size_t width,
                                                 std::size_t most);

// Cuts a line that is longer than `width` and appends "...".
[[nodiscard]] std::string cut_line(const std::string& text, std::size_t width);

// Puts `first` before the first line and as many blanks before the others. Every line ends with a
// newline.
[[nodiscard]] std::string indented(std::string_view first, std::string_view text,
                                   std::size_t width);

}  // namespace muster::report
