// The hosts of a job and how to log in to them.
#pragma once

#include <string>
#include <vector>

#include "hosts/host.hpp"

namespace muster::hosts {

struct Cluster {
  std::vector<Host> hosts;  // in the given order, without duplicates
  std::string user = {};    // empty: as in the user's ssh configuration
  int port = 0;             // 0: as in the user's ssh configuration
  std::string source =
      {};  // where the list came from, for people: "-H", "hosts.txt", "muster.yaml"
};

}  // namespace muster::hosts
