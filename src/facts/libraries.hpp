// The libraries that a program would load, by asking its own loader, as ldd does.
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
  std::string name;  // as it was asked for; of one that was given by its path, the file's name
  std::string path;

  friend bool operator==(const LoadedLibrary&, const LoadedLibrary&) = default;
};

struct Libraries {
  std::vector<LoadedLibrary> loaded = {};  // without the kernel's own and the loader
  std::string libmpi = {};                 // path; empty: it loads none
  std::vector<std::string> missing = {};   // names
};

// What the loader lists: "name => path (address)" or "name => not found". glibc's and musl's.
[[nodiscard]] Libraries parse_loaded(std::string_view text);

// Nothing of the program itself runs. A script or a static program has no libraries. `opened` are
// paths of libraries that the program will open while it runs: the loader finds what they need as
// it would then. Those that it cannot load are left out.
[[nodiscard]] Result<Libraries> read_libraries(const std::string& program,
                                               const Variables& environment,
                                               std::chrono::milliseconds deadline,
                                               std::span<const std::string> opened = {});

}  // namespace muster::facts
