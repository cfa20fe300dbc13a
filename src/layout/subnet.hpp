// The network that the job's traffic takes: chosen by subnet and route, never by an interface's
// name.
#pragma once

#include <cstdint>
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
  std::uint32_t address = 0;
  const facts::Interface* interface = nullptr;  // of the Facts it was read from
};

// Of interfaces that are up and lead out of the host; never loopback, virtual, tunnel, link-local.
[[nodiscard]] std::vector<Door> doors(const facts::Facts& host);

// The first in this network; nothing: the host has none there.
[[nodiscard]] std::optional<Door> door_in(const facts::Facts& host, const Network& network);

// The host's loopback interface; nothing if it is not up.
[[nodiscard]] std::optional<Door> loopback_of(const facts::Facts& host);

// The interface of the default route with the lowest metric; empty: there is none.
[[nodiscard]] std::string default_interface(const facts::Facts& host);

struct Subnet {
  Network network;
  std::vector<Door> members;  // one a host, in the order given
  std::string why;
};

// Nothing when the hosts share none. `master` is the address that the user named for rank 0, if it
// is one. Cost: linear in hosts, but for the logarithm of their number.
[[nodiscard]] std::optional<Subnet> choose_subnet(std::span<const facts::Facts* const> hosts,
                                                  const facts::Facts& launcher,
                                                  std::optional<std::uint32_t> master);

// Where the launcher meets the hosts when it has no address in `chosen`: a network that it shares
// with all of them, else that of its default route. Empty: it has one, or no network at all.
[[nodiscard]] std::string launcher_subnet(std::span<const facts::Facts* const> hosts,
                                          const facts::Facts& launcher, const Network& chosen);

}  // namespace muster::layout
