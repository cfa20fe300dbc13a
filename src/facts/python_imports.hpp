// Finds the import statements in a Python file by reading its lines, without running it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

struct Import {
  int dots = 0;                         // 2 for `from ..a import b`
  std::vector<std::string> module;      // {"a", "b"} for a.b; empty for `from . import c`
  std::vector<std::string> names = {};  // names imported from it: attributes or modules

  friend bool operator==(const Import&, const Import&) = default;
};

// Returns {"a", "b"} for "a.b"; empty if it is not a module name.
[[nodiscard]] std::vector<std::string> module_parts(std::string_view name);

// Finds imports in branches and functions too, and also lines in strings that look like imports.
// Does not find imports through importlib, or names that are not ASCII. Cost: linear in the text.
[[nodiscard]] std::vector<Import> python_imports(std::string_view text);

}  // namespace muster::facts
