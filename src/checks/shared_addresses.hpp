// Addresses that more than one host has.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "checks/participant.hpp"
#include "facts/facts.hpp"
#include "layout/network.hpp"

namespace muster::checks {

class SharedAddresses {
 public:
  struct Use {
    const Participant* host = nullptr;
    const facts::Interface* interface = nullptr;
  };

  // Considers the addresses of interfaces that are up, except loopback and link-local ones. `hosts`
  // must outlive this object. Cost: n log n in addresses.
  explicit SharedAddresses(std::span<const Participant> hosts);

  [[nodiscard]] bool contains(const layout::Ip& address) const { return uses_.contains(address); }
  [[nodiscard]] const std::map<layout::Ip, std::vector<Use>>& all() const { return uses_; }

 private:
  std::map<layout::Ip, std::vector<Use>> uses_;  // one use per host
};

}  // namespace muster::checks
