// The network that the job's traffic takes: chosen by subnet and route, never by an interface's
// name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "layout/network.hpp"

namespace muster::layout {

// An address of a host through which a job's traffic may go.
struct Door {
  Network network;
  Ip address;
  const facts::Interface* interface = nullptr;  // of the Facts it was read from
  bool lasts = true;                            // neither temporary nor deprecated
};

// Of interfaces that are up and lead out of the host; never loopback, virtual, tunnel, link-local.
// IPv6 addresses that may go away soon come last.
[[nodiscard]] std::vector<Door> doors(const facts::Facts& host);

// The first in this network; nothing: the host has none there.
[[nodiscard]] std::optional<Door> door_in(const facts::Facts& host, const Network& network);

// The host's loopback interface; nothing if it is not up.
[[nodiscard]] std::optional<Door> loopback_of(const facts::Facts& host);

// The interface of the family's default route with the lowest metric; empty: there is none.
[[nodiscard]] std::string default_interface(const facts::Facts& host, Family family);

struct Subnet {
  Network network;
  std::vector<Door> members;  // one a host, in the order given
  std::string why;
};

// Nothing when the hosts share none. IPv4 comes before IPv6 on the same interfaces. `master` is the
// address that the user named for rank 0, if it is one. With `only_control`, RDMA carries the data
// of the job, and the network by which the hosts are reached comes before a faster one. Cost:
// linear in hosts, but for the logarithm of their number.
[[nodiscard]] std::optional<Subnet> choose_subnet(std::span<const facts::Facts* const> hosts,
                                                  const facts::Facts& launcher,
                                                  std::optional<Ip> master, bool only_control);

// Where the launcher meets the hosts when it has no address in `chosen`: a network that it shares
// with all of them, else that of its default route. Empty: it has one, or no network at all.
[[nodiscard]] std::string launcher_subnet(std::span<const facts::Facts* const> hosts,
                                          const facts::Facts& launcher, const Network& chosen);

}  // namespace muster::layout
