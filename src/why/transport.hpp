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
  std::string from = {};   // host names
  std::string to = {};     // empty: the peer's address belongs to no host of the job
  bool to_master = false;  // an attempt to reach the rendezvous
};

struct BadLinks {
  std::vector<BadConnection> connections = {};
  // The one host that all of them share, or the two hosts if there is only one pair.
  std::vector<std::string> hosts = {};
};

// Finds established connections whose data is resent in vain, and connection attempts without
// answer.
[[nodiscard]] BadLinks find_bad_links(const Scene& scene, const std::vector<RankReading>& ranks);

// "n1 -> n3 (10.0.0.1:40123 -> 10.0.0.3:29501): 64 KiB not acknowledged for 12 s, sent 6 times".
[[nodiscard]] std::string connection_text(const BadConnection& bad);

[[nodiscard]] std::map<std::string, std::string> hosts_by_address(const Scene& scene);

// Whether data is in transit and arrives.
[[nodiscard]] bool moves_data(const std::vector<const RankReading*>& ranks);

}  // namespace muster::why
