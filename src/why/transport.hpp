// Finds connections between the ranks' hosts on which data does not arrive. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "why/rank_reading.hpp"

namespace muster::why {

struct BadConnection {
  const RankReading* rank = nullptr;
  const inspect::Connection* connection = nullptr;
  std::string from = {};   // the rank's host
  std::string to = {};     // the peer's host; "" if its address belongs to no known host
  bool to_master = false;  // an attempt to reach the rendezvous
};

struct BadLinks {
  std::vector<BadConnection> connections = {};
  // The host that all of them share, or both hosts if all connect the same two, or else all hosts.
  // A peer without a known host counts as a host that is named after its address.
  std::vector<std::string> hosts = {};
};

// Finds established connections whose data is resent in vain, and connection attempts that get no
// answer.
[[nodiscard]] BadLinks find_bad_links(const Scene& scene, const std::vector<RankReading>& ranks);

// Returns "n1 -> n3 (10.0.0.1:40123 -> 10.0.0.3:29501): 64 KiB not acknowledged for 12 s, sent
// again 6 times".
[[nodiscard]] std::string connection_text(const BadConnection& bad);

[[nodiscard]] std::map<std::string, std::string> hosts_by_address(const Scene& scene);

// Whether any of the ranks has a connection on which data is in transit and arrives.
[[nodiscard]] bool moves_data(const std::vector<const RankReading*>& ranks);

}  // namespace muster::why
