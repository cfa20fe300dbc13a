#pragma once

#include <cstddef>
#include <string>

namespace muster::sys {

// Cryptographically secure random bytes, at most 256, as hexadecimal digits.
[[nodiscard]] std::string random_hex(std::size_t bytes);

}  // namespace muster::sys
