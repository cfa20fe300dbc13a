// A host as the user names it, and how many ranks it is said to take.
#pragma once

#include <string>
#include <vector>

namespace muster::hosts {

struct Host {
  std::string name;
  int slots = 0;      // ranks on it; 0: not given
  bool here = false;  // the machine that muster runs on: reached without ssh

  friend bool operator==(const Host&, const Host&) = default;
};

}  // namespace muster::hosts
