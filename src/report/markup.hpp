// Text inside of HTML and SVG. All of it is hostile: names and messages come from hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::report {

// For an element's content and for an attribute in quotes. What is no UTF-8, no character or would
// turn the direction of writing becomes U+FFFD; newlines stay.
[[nodiscard]] std::string escaped(std::string_view text);

// Both ends with an ellipsis between them: names of hosts differ at either. Not escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t characters);

}  // namespace muster::report
