// Makes text from a host or an untrusted file safe for a terminal, so that no prompt, banner or
// file can move the cursor, change colours or overwrite earlier output.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Replaces with '?' every control character, every character that changes the direction of text,
// and every byte that is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

// Like printable, for text of several lines: keeps '\n', and turns "\r\n" into '\n'.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace muster
