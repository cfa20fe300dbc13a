// What the system must start in order to start a file: a script's `#!` program, an ELF file's
// loader. Without it exec says "No such file", as if the file itself were missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

struct Shebang {
  std::string interpreter;
  std::string argument = {};  // the rest of the line: the system hands it over as one word
};

// The first line of a script, as the kernel reads it (255 bytes); nothing: there is no `#!`.
[[nodiscard]] std::optional<Shebang> parse_shebang(std::string_view file);

// The program that the `#!` line starts, directly or through `env`; empty if it does not exist.
[[nodiscard]] std::string script_interpreter(std::string_view file, const std::string& folder,
                                             std::string_view path);

// The interpreter of the file that is not there, or the program that `env` would look for in vain.
// Empty: none is missing, or none is needed.
[[nodiscard]] std::string missing_interpreter(std::string_view file, const std::string& folder,
                                              std::string_view path);

}  // namespace muster::facts
