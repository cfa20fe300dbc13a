// Describes the connections that were tried between hosts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/finding.hpp"
#include "checks/reach_groups.hpp"

namespace muster::checks {

// The connections that were tried, by source and target. Leaves out those to the launcher.
class Reachability {
 public:
  explicit Reachability(const Scene& scene);

  [[nodiscard]] const HostPairs& tried() const { return tried_; }
  // The pairs with at least one failed connection: blocked() returns those in which it was blocked
  // (see is_blocked), large_lost() those in which it lost large packets.
  [[nodiscard]] const HostPairs& blocked() const { return blocked_; }
  [[nodiscard]] const HostPairs& large_lost() const { return large_lost_; }

  // Describes, for each target of these blocked pairs, how the connections to it ended.
  [[nodiscard]] std::string blocked_text(const HostPairs& pairs) const;

  [[nodiscard]] std::vector<std::string> names(const HostNumbers& hosts) const;
  [[nodiscard]] std::string folded(const HostNumbers& hosts) const;

 private:
  const Scene& scene_;
  std::map<HostPair, std::vector<const facts::Trial*>> trials_;
  HostPairs tried_;
  HostPairs blocked_;
  HostPairs large_lost_;
};

[[nodiscard]] bool is_blocked(facts::Reached how);

// Returns the verb for connections that ended like this: "time out", "are refused".
[[nodiscard]] std::string_view verb_for(facts::Reached how);

}  // namespace muster::checks
