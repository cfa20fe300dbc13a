// Who: the hosts of a job and how to log in to them.
#pragma once

#include <string>
#include <vector>

#include "hosts/host.hpp"

namespace muster::hosts {

struct Cluster {
  std::vector<Host> hosts;  // in the order given; no name twice
  std::string user = {};    // empty: what the user's ssh configuration says
  int port = 0;             // 0: likewise
  std::string source =
      {};  // where the list came from, for people: "-H", "hosts.txt", "muster.yaml"
};

}  // namespace muster::hosts
