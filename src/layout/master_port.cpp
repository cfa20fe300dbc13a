#include "layout/master_port.hpp"

#include <algorithm>
#include <vector>

namespace muster::layout {
namespace {

constexpr int kFirstUnprivileged = 1025;
constexpr int kPortsInTurn = 16;

// For each port, whether some host uses it for outgoing connections.
std::vector<bool> outgoing(std::span<const facts::Facts* const> hosts) {
  std::vector<int> change(kLastPort + 2, 0);
  for (const facts::Facts* host : hosts) {
    const int first = std::max(host->port_range_first, 1);
    const int last = std::min(host->port_range_last, kLastPort);
    if (first > last) continue;
    ++change[first];
    --change[last + 1];
  }
  std::vector<bool> is_outgoing(kLastPort + 1, false);
  int depth = 0;
  for (int port = 0; port <= kLastPort; ++port) {
    depth += change[port];
    is_outgoing[port] = depth > 0;
  }
  return is_outgoing;
}

}  // namespace

int choose_master_port(const facts::Facts* first, std::span<const facts::Facts* const> hosts,
                       int attempt) {
  // The port of the previous attempt may still be in TIME_WAIT, and some programs cannot listen on
  // such a port.
  const int usual = kUsualMasterPort + attempt % kPortsInTurn;
  const std::vector<bool> in_range = outgoing(hosts);
  std::vector<bool> taken(kLastPort + 1, false);
  if (first != nullptr) {
    for (const facts::Listener& listener : first->listeners) {
      if (listener.port > 0 && listener.port <= kLastPort) taken[listener.port] = true;
    }
  }
  for (int port = usual; port <= kLastPort && !in_range[port]; ++port) {
    if (!taken[port]) return port;
  }
  for (int port = usual - 1; port >= kFirstUnprivileged; --port) {
    if (!in_range[port] && !taken[port]) return port;
  }
  return 0;
}

bool is_outgoing_port(const facts::Facts& host, int port) {
  return host.port_range_first <= port && port <= host.port_range_last;
}

}  // namespace muster::layout
