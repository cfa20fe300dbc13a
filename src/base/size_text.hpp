// Sizes in bytes for people, with one function for each kind of size.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

// For messages, whose sizes are powers of two: "8 B", "1 KiB", "1.5 MiB". At most four digits.
[[nodiscard]] std::string size_text(std::int64_t bytes);

// Like size_text, in a short form for the axis of a chart: "8", "1K", "1.5M".
[[nodiscard]] std::string short_size(std::int64_t bytes);

// For a host's memory: "512 MiB", "15.6 GiB".
[[nodiscard]] std::string memory_text(std::int64_t bytes);

// For files, in powers of 1000 as rsync prints them: "999 bytes", "1.2 MB".
[[nodiscard]] std::string file_size_text(std::uint64_t bytes);

}  // namespace muster
