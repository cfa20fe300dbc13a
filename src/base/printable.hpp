// Text from a host or a hostile file, made fit for a terminal: nobody's prompt, banner or file can
// move the cursor, change colours or rewrite what stands above.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// '?' for every control character, for those that turn the direction of text, and for every byte
// that is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

// The same for text of several lines: '\n' stays, and "\r\n" becomes '\n'.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace muster
