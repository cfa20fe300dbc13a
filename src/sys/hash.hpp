// A hash of a file's content, so that two hosts can compare their copies. It protects against
// mistakes, not against deliberate collisions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::sys {

// 128 bits (XXH3) as 32 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::string_view text);

// The hash of a regular file's content. Cost: reads the file once, 64 KiB at a time.
[[nodiscard]] Result<std::string> hash_file(const std::string& path);

}  // namespace muster::sys
