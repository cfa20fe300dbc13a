// Whether the hosts of a job can connect to each other, and to the launcher where the engine needs
// that, tried over the crew's sessions before the launch.
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
  std::size_t member = 0;    // of the crew
  std::string address = {};  // in the job's network
  bool calls_launcher = false;
};

struct ReachPlan {
  std::vector<Station> stations;  // the host of rank 0 first
  agent::Endpoint master = {};    // of the first station; port 0: not tested
  std::string launcher = {};      // address of this machine; empty: nobody calls it
};

// The hosts that have ranks, facts and an address of their own; without stations if there is
// nothing to test.
[[nodiscard]] ReachPlan plan_reach(const layout::Layout& layout, const hosts::Cluster& cluster,
                                   std::span<const facts::Survey> surveys);

// One Trial for each connection that says something about the network. Cost: two round trips and
// the connections of peers_in_rounds; where packets are dropped, the deadline of a connection more.
[[nodiscard]] std::vector<facts::Trial> test_reach(sys::Loop& loop, Crew& crew,
                                                   const ReachPlan& plan);

}  // namespace muster::run
