// Text inside HTML and SVG. All of it may be hostile: names and messages come from hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::report {

// Escapes text for an element or a quoted attribute. Invalid UTF-8, control characters and
// characters that change the writing direction become U+FFFD. Newlines stay.
[[nodiscard]] std::string escaped(std::string_view text);

// Shortens the text by replacing its middle with an ellipsis, because host names may differ at
// either end. The result is not escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t characters);

}  // namespace muster::report
