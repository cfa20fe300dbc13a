// Text from a host or a hostile file, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace muster::setup {

// Every byte but printable ASCII and '\n' becomes '?', so that nobody's prompt or banner can move
// the cursor, change colours or rewrite what stands above.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace muster::setup
