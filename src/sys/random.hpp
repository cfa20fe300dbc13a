#pragma once

#include <cstddef>
#include <string>

namespace muster::sys {

// So many bytes that nobody can guess, in hexadecimal digits.
[[nodiscard]] std::string random_hex(std::size_t bytes);

}  // namespace muster::sys
