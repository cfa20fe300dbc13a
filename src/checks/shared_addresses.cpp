#include "checks/shared_addresses.hpp"

namespace muster::checks {

SharedAddresses::SharedAddresses(std::span<const Participant> hosts) {
  for (const Participant& host : hosts) {
    for (const facts::Interface& interface : host.facts->interfaces) {
      if (!interface.up || interface.kind == facts::InterfaceKind::kLoopback) continue;
      for (const facts::Address& address : interface.addresses) {
        const auto ip = layout::parse_ip(address.ip);
        if (!ip || layout::is_loopback(*ip) || layout::is_link_local(*ip)) continue;
        auto& uses = uses_[*ip];
        if (uses.empty() || uses.back().host != &host) uses.push_back({&host, &interface});
      }
    }
  }
  std::erase_if(uses_, [](const auto& one) { return one.second.size() < 2; });
}

}  // namespace muster::checks
