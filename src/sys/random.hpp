#pragma once

#include <cstddef>
#include <string>

namespace muster::sys {

// Random bytes that nobody can guess, at most 256, as hexadecimal digits.
[[nodiscard]] std::string random_hex(std::size_t bytes);

}  // namespace muster::sys
