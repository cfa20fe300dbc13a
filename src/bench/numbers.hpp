// Formats a bench's numbers for people. Bandwidths are in bytes per second, times in seconds.
#pragma once

#include <string>

namespace muster::bench {

// Returns three significant digits, with at most five decimals and no exponent: "412", "9.41",
// "0.0941". Only numbers that are too large for any cluster get an exponent, so that the columns
// stay aligned.
[[nodiscard]] std::string three_digits(double value);

// Returns a number for a cell of a matrix: "9.41", "94.1", "941". It has at most four characters
// for values below 1000.
[[nodiscard]] std::string short_number(double value);

[[nodiscard]] std::string gbit(double bytes_a_second);   // without the unit
[[nodiscard]] std::string speed(double bytes_a_second);  // "9.41 Gbit/s", "94.1 Mbit/s"

[[nodiscard]] std::string microseconds(double seconds);  // without the unit: "7.25", "1204"
[[nodiscard]] std::string duration(double seconds,
                                   const char* micro = "us");  // "7.25 us", "1.20 ms"
// The unit "us" with the Greek letter, for pages, which can show it.
constexpr const char* kMicro = "\u00b5s";

[[nodiscard]] std::string decimal_size(double bytes);  // in powers of 1000: "102 MB"

[[nodiscard]] std::string percent(double share);  // for 0.123 "12 %"; for 0.012 "1.2 %"

}  // namespace muster::bench
