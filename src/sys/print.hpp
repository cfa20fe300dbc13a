// Everything that muster prints goes through these functions. None of them throws, because muster
// run must survive the loss of its terminal. Text for a terminal is filtered (see TerminalFilter);
// files and pipes get every byte.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace muster::sys {

// After the first failed write to standard output, later text is discarded; see output_error().
void write_out(std::string_view text);
// Failed writes to standard error are ignored, because there is no other place to report them.
void write_err(std::string_view text);

template <typename... T>
void print_out(fmt::format_string<T...> format, T&&... values) {
  write_out(fmt::format(format, std::forward<T>(values)...));
}

template <typename... T>
void print_err(fmt::format_string<T...> format, T&&... values) {
  write_err(fmt::format(format, std::forward<T>(values)...));
}

// The errno of the first failed write to standard output, or 0. EPIPE means that the reader is
// gone.
[[nodiscard]] int output_error();

// False after a failed write, or if the reader is gone so that the next write would fail.
[[nodiscard]] bool output_is_taken();

// Whether text on this descriptor may have colours. It must be a terminal, NO_COLOR must be unset,
// and TERM must name a terminal with colours (neither empty nor "dumb").
[[nodiscard]] bool shows_colours(int descriptor);

// Occupies closed standard streams, so that a file opened later cannot get their numbers and
// receive muster's output. Writes to them fail.
void hold_standard_streams();

}  // namespace muster::sys
