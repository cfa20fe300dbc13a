// IPv4 addresses that more than one host has.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "checks/participant.hpp"
#include "facts/facts.hpp"

namespace muster::checks {

class SharedAddresses {
 public:
  struct Use {
    const Participant* host = nullptr;
    const facts::Interface* interface = nullptr;
  };

  // Of interfaces that are up, loopback and link-local addresses apart. `hosts` must outlive this.
  // Cost: n log n in addresses.
  explicit SharedAddresses(std::span<const Participant> hosts);

  [[nodiscard]] bool contains(std::uint32_t address) const { return uses_.contains(address); }
  [[nodiscard]] const std::map<std::uint32_t, std::vector<Use>>& all() const { return uses_; }

 private:
  std::map<std::uint32_t, std::vector<Use>> uses_;  // one a host
};

}  // namespace muster::checks
