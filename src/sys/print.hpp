// The only way in which muster prints. Nothing here throws: muster run must outlive its terminal.
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

// The errno of the write to standard output that failed; 0: none did. EPIPE: its reader is gone.
[[nodiscard]] int output_error();

// False after a failed write, and when the next one would fail because the reader is gone.
[[nodiscard]] bool output_is_taken();

// Makes a closed standard stream fail instead of writing into a file that gets its number later.
void hold_standard_streams();

}  // namespace muster::sys
