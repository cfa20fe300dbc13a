// The import statements of a Python file, found by reading its lines: nothing is run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

struct Import {
  int dots = 0;                         // of `from ..a import b`: 2
  std::vector<std::string> module;      // {"a", "b"} of a.b; empty: `from . import c`
  std::vector<std::string> names = {};  // imported from it: attributes or modules

  friend bool operator==(const Import&, const Import&) = default;
};

// {"a", "b"} for "a.b"; empty if it is not a module name.
[[nodiscard]] std::vector<std::string> module_parts(std::string_view name);

// Includes imports in branches and functions, and lines in strings that look like one. Misses
// those made by importlib, and names that are not ASCII. Cost: linear in the text.
[[nodiscard]] std::vector<Import> python_imports(std::string_view text);

}  // namespace muster::facts
