// The content of a file as one short word, so that two hosts can compare their copies. It guards
// against mistakes, not against somebody who makes two files agree.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::sys {

// 128 bits (XXH3) as 32 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::string_view text);

// The same of a regular file's bytes. Cost: the file is read once, 256 kB at a time.
[[nodiscard]] Result<std::string> hash_file(const std::string& path);

}  // namespace muster::sys
