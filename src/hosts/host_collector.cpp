#include "hosts/host_collector.hpp"

#include <algorithm>

namespace muster::hosts {

bool HostCollector::add(std::string_view name, int slots) {
  ++named_;
  if (const auto known = index_.find(name); known != index_.end()) {
    int& total = hosts_[*known].slots;
    const int more = std::max(slots, 1);
    total = std::max(total, 1);
    if (more > kMaxSlots - total) return false;
    total += more;
    return true;
  }
  hosts_.push_back({.name = std::string(name), .slots = slots});
  index_.insert(hosts_.size() - 1);
  return slots <= kMaxSlots;
}

}  // namespace muster::hosts
