// Text for people, cut into lines of a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::report {

// The words of `text` on lines of at most `width` bytes; newlines in it stay line ends. A word that
// is longer gets a line of its own and is never broken: it may be a path or a command to paste.
// No line ends in a blank; empty text gives no line.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

// The same in at most `most` lines, in which longer words are cut. "..." stands for what is left
// out.
[[nodiscard]] std::vector<std::string> cut_lines(std::string_view text, std::size_t width,
                                                 std::size_t most);

// The beginning of a line that is longer than `width`, and "...".
[[nodiscard]] std::string cut_line(const std::string& text, std::size_t width);

// `first` before the first line and as many blanks before the others, each line with its newline.
[[nodiscard]] std::string indented(std::string_view first, std::string_view text,
                                   std::size_t width);

}  // namespace muster::report
