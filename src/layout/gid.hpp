// The GIDs of RDMA ports. A GID is an IPv6 address, which may contain an IPv4 address
// (::ffff:a.b.c.d).
#pragma once

#include <optional>
#include <string_view>

#include "facts/facts.hpp"
#include "layout/network.hpp"

namespace muster::layout {

// Turns "0000:0000:0000:0000:0000:ffff:c612:000b" into 198.18.0.11.
[[nodiscard]] std::optional<Ip> ip_of_gid(std::string_view gid);

// Whether RoCE v2 can send from this address. False for loopback addresses and for IPv6 link-local
// ones. Cables between two machines often have IPv4 link-local addresses, so these are valid.
[[nodiscard]] bool is_roce_v2_address(const facts::Gid& gid, const Ip& ip);

}  // namespace muster::layout
