// Chooses the network for the job's traffic by subnets and routes, never by the names of
// interfaces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "layout/network.hpp"

namespace muster::layout {

// An address of a host through which the job's traffic may go.
struct Door {
  Network network;
  Ip address;
  const facts::Interface* interface = nullptr;  // points into the Facts that were examined
  bool lasts = true;                            // false if it is temporary or deprecated
};

// Returns the addresses of interfaces that are up and lead out of the host. Leaves out loopback,
// virtual and tunnel interfaces and link-local addresses. IPv6 addresses that may go away soon come
// last.
[[nodiscard]] std::vector<Door> doors(const facts::Facts& host);

// The first door in this network; nothing if the host has none.
[[nodiscard]] std::optional<Door> door_in(const facts::Facts& host, const Network& network);

// The host's loopback interface; nothing if it is not up.
[[nodiscard]] std::optional<Door> loopback_of(const facts::Facts& host);

// The interface of the default route with the lowest metric for this family; empty if there is
// none.
[[nodiscard]] std::string default_interface(const facts::Facts& host, Family family);

struct Subnet {
  Network network;
  std::vector<Door> members;  // one per host, in the given order
  std::string why;
};

// Returns nothing if the hosts have no network in common. Prefers IPv4 to IPv6 on the same
// interfaces. `master` is the address that the user gave for rank 0, if it is an address. With
// `only_control`, RDMA carries the job's data, so the network of the default routes is preferred to
// a faster one. Cost: n log n in hosts.
[[nodiscard]] std::optional<Subnet> choose_subnet(std::span<const facts::Facts* const> hosts,
                                                  const facts::Facts& launcher,
                                                  std::optional<Ip> master, bool only_control);

// Returns the network through which the launcher reaches the hosts if it has no address in
// `chosen`: one that it shares with all of them, or else that of its default route. Empty if the
// launcher has an address in `chosen`, or no network at all.
[[nodiscard]] std::string launcher_subnet(std::span<const facts::Facts* const> hosts,
                                          const facts::Facts& launcher, const Network& chosen);

}  // namespace muster::layout
