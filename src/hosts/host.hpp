// A host as the user names it, and how many ranks it takes.
#pragma once

#include <string>
#include <vector>

namespace muster::hosts {

struct Host {
  std::string name;
  int slots = 0;      // how many ranks it takes; 0: not given
  bool here = false;  // the machine on which muster runs, reached without ssh

  friend bool operator==(const Host&, const Host&) = default;
};

}  // namespace muster::hosts
