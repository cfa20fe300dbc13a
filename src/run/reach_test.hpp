// Tests before the launch, over the crew's sessions, whether the hosts of a job can connect to each
// other, and to the launcher where the engine needs that.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "facts/reach.hpp"
#include "hosts/cluster.hpp"
#include "layout/layout.hpp"
#include "run/crew.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// A host that takes part in the test.
struct Station {
  std::size_t member = 0;    // index in the crew
  std::string address = {};  // in the job's network
  bool calls_launcher = false;
};

struct ReachPlan {
  std::vector<Station> stations;  // the host of rank 0 first
  agent::Endpoint master = {};    // on the first station; port 0: not tested
  std::string launcher = {};      // this machine's address; empty: no host calls it
};

// Plans a test of the hosts that have ranks, facts and an address of their own. The plan has no
// stations if there is nothing to test.
[[nodiscard]] ReachPlan plan_reach(const layout::Layout& layout, const hosts::Cluster& cluster,
                                   std::span<const facts::Survey> surveys);

// Returns one Trial for each connection whose result says something about the network. Cost: three
// round trips and the connections of peers_in_rounds; where packets are dropped, also the deadline
// of a connection.
[[nodiscard]] std::vector<facts::Trial> test_reach(sys::Loop& loop, Crew& crew,
                                                   const ReachPlan& plan);

}  // namespace muster::run
