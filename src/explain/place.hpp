// The position of a line in a log.
#pragma once

#include <cstdint>
#include <string>

namespace muster::explain {

struct Place {
  std::string file;  // as the user named it
  // Counted from 1. 0 if unknown, because earlier lines were not counted.
  std::uint64_t line = 0;
};

}  // namespace muster::explain
