// What the system must start when it is asked to start a file: the interpreter in a script's `#!`
// line, or the loader of an ELF file. If it is missing, exec reports "No such file", as if the file
// itself were missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

struct Shebang {
  std::string interpreter;
  std::string argument = {};  // rest of the line, which the system passes as one argument
};

// Parses the `#!` line of a script as the kernel does (only 255 bytes). Nothing if there is none.
[[nodiscard]] std::optional<Shebang> parse_shebang(std::string_view file);

// The program that the `#!` line starts, directly or through `env`. Empty if it does not exist.
[[nodiscard]] std::string script_interpreter(std::string_view file, const std::string& folder,
                                             std::string_view path);

// The interpreter or loader that the file needs but that does not exist, or the program that `env`
// would not find. Empty if none is missing.
[[nodiscard]] std::string missing_interpreter(std::string_view file, const std::string& folder,
                                              std::string_view path);

}  // namespace muster::facts
