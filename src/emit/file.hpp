// A file that muster writes for another program.
#pragma once

#include <string>

namespace muster::emit {

struct File {
  std::string path;  // relative to the directory that the user names
  std::string content;
};

}  // namespace muster::emit
