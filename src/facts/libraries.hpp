// Finds the libraries that a program would load. Asks the program's own loader, as ldd does.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

struct LoadedLibrary {
  std::string name;  // as requested; the file name if requested by path
  std::string path;

  friend bool operator==(const LoadedLibrary&, const LoadedLibrary&) = default;
};

struct Libraries {
  std::vector<LoadedLibrary> loaded = {};  // without the loader, and without the vDSO
  std::string libmpi = {};                 // path of the libmpi; empty if none is loaded
  std::vector<std::string> missing = {};   // names of missing libraries
};

// Parses the loader's list: "name => path (address)" or "name => not found", from glibc or musl.
[[nodiscard]] Libraries parse_loaded(std::string_view text);

// Runs no code of the program. A script or a static program has no libraries. `opened` are paths of
// libraries that the program will open while it runs; their dependencies are resolved as they would
// be then. Libraries in `opened` that cannot be loaded are left out.
[[nodiscard]] Result<Libraries> read_libraries(const std::string& program,
                                               const Variables& environment,
                                               std::chrono::milliseconds deadline,
                                               std::span<const std::string> opened = {});

}  // namespace muster::facts
