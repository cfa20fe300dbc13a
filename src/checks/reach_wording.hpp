// What the connections that were tried between hosts say, in words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks/finding.hpp"
#include "checks/reach_groups.hpp"

namespace muster::checks {

// The connections that were tried, by who tried to reach whom; without those to the launcher.
class Reachability {
 public:
  explicit Reachability(const Scene& scene);

  [[nodiscard]] const HostPairs& tried() const { return tried_; }
  // Pairs with a connection that failed because something blocks it, or because it loses large
  // packets.
  [[nodiscard]] const HostPairs& blocked() const { return blocked_; }
  [[nodiscard]] const HostPairs& large_lost() const { return large_lost_; }

  // How connections of the pairs ended that were blocked, for each host that they lead to.
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

// "time out", "are refused": what connections do.
[[nodiscard]] std::string_view verb_for(facts::Reached how);

}  // namespace muster::checks
