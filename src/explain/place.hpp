// Where a line of a log is.
#pragma once

#include <cstdint>
#include <string>

namespace muster::explain {

struct Place {
  std::string file;        // as the user named it
  std::uint64_t line = 0;  // from 1; 0: unknown, because the lines before were not counted
};

}  // namespace muster::explain
