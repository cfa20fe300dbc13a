// What a command line asks Python to run. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster::layout {

// "python3.11" or a path to it, but not "python3-config".
[[nodiscard]] bool is_interpreter(std::string_view program);

// Whether Python runs the program: it names an interpreter or a script.
[[nodiscard]] bool is_python(std::span<const std::string> program);

// The code that Python is to run.
struct PythonCode {
  std::string word;        // a script's path, or a module's name ("package.train")
  bool is_module = false;  // python -m

  friend bool operator==(const PythonCode&, const PythonCode&) = default;
};

// Nothing if no file is named (`python -c`, standard input), or if the script would have to be
// looked up in PATH.
[[nodiscard]] std::optional<PythonCode> python_code(std::span<const std::string> program);

}  // namespace muster::layout
