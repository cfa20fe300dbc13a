// The only way that muster prints. Nothing here throws, since muster run must outlive its terminal.
// On a terminal the text is filtered (see TerminalFilter); files and pipes get every byte.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace muster::sys {

// After a write to standard output has failed, nothing more is written to it; see output_error().
void write_out(std::string_view text);
// A failed write to standard error is ignored: there is nobody to tell.
void write_err(std::string_view text);

template <typename... T>
void print_out(fmt::format_string<T...> format, T&&... values) {
  write_out(fmt::format(format, std::forward<T>(values)...));
}

template <typename... T>
void print_err(fmt::format_string<T...> format, T&&... values) {
  write_err(fmt::format(format, std::forward<T>(values)...));
}

// The errno of the first failed write to standard output, or 0. EPIPE: the reader is gone.
[[nodiscard]] int output_error();

// False after a failed write, or if the reader is gone and the next write would fail.
[[nodiscard]] bool output_is_taken();

// Whether text on this descriptor may have colours: it is a terminal, and neither NO_COLOR nor a
// terminal without colours (TERM is empty or "dumb") forbids it.
[[nodiscard]] bool shows_colours(int descriptor);

// Makes writes to a closed standard stream fail, so that no file opened later receives them.
void hold_standard_streams();

}  // namespace muster::sys
