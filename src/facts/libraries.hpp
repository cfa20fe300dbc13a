// The libraries that a program would load, by asking its own loader, as ldd does.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

struct Libraries {
  std::string libmpi = {};                // path; empty: it loads none
  std::vector<std::string> missing = {};  // names
};

// What the loader lists: "name => path (address)" or "name => not found". glibc's and musl's.
[[nodiscard]] Libraries parse_loaded(std::string_view text);

// Nothing of the program itself runs. A script or a static program has no libraries.
[[nodiscard]] Result<Libraries> read_libraries(const std::string& program,
                                               const Variables& environment,
                                               std::chrono::milliseconds deadline);

}  // namespace muster::facts
