// Numbers of a bench as people read them. Bandwidths come in bytes a second, times in seconds.
#pragma once

#include <string>

namespace muster::bench {

// Three significant digits and no exponent: "412", "9.41", "0.0941"; five decimals at most. For
// what is so large that no cluster has it, an exponent after all, so that columns stay columns.
[[nodiscard]] std::string three_digits(double value);

// For the cells of a matrix: "9.41", "94.1", "941"; four characters below a thousand.
[[nodiscard]] std::string short_number(double value);

[[nodiscard]] std::string gbit(double bytes_a_second);   // the number alone
[[nodiscard]] std::string speed(double bytes_a_second);  // "9.41 Gbit/s", "94.1 Mbit/s"

[[nodiscard]] std::string microseconds(double seconds);  // the number alone: "7.25", "1204"
[[nodiscard]] std::string duration(double seconds,
                                   const char* micro = "us");  // "7.25 us", "1.2 ms"
constexpr const char* kMicro = "\u00b5s";                      // on a page, where it can be had

[[nodiscard]] std::string decimal_size(double bytes);  // of what a link carries: "102 MB"

[[nodiscard]] std::string percent(double share);  // of 0.123: "12 %"; of less than a tenth: "1.2 %"

}  // namespace muster::bench
