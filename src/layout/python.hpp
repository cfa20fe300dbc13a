// What a command line makes Python run. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster::layout {

// True for "python3.11" or a path to it, but not for "python3-config".
[[nodiscard]] bool is_interpreter(std::string_view program);

// Whether Python runs the program: its first word names an interpreter or a script.
[[nodiscard]] bool is_python(std::span<const std::string> program);

// The code that Python runs.
struct PythonCode {
  std::string word;        // path of a script, or name of a module ("package.train")
  bool is_module = false;  // whether it is a module, as with python -m

  friend bool operator==(const PythonCode&, const PythonCode&) = default;
};

// Returns nothing if no file is named (`python -c`, standard input), or if the script would be
// searched for in PATH.
[[nodiscard]] std::optional<PythonCode> python_code(std::span<const std::string> program);

}  // namespace muster::layout
