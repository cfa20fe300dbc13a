// The GIDs of RDMA ports. A GID is an IPv6 address, in which IPv4 is mapped (::ffff:a.b.c.d).
#pragma once

#include <optional>
#include <string_view>

#include "facts/facts.hpp"
#include "layout/network.hpp"

namespace muster::layout {

// "0000:0000:0000:0000:0000:ffff:c612:000b" is 198.18.0.11.
[[nodiscard]] std::optional<Ip> ip_of_gid(std::string_view gid);

// An address that RoCE v2 can send from: not a loopback address, and for IPv6 not link-local.
// Cables between two machines often have IPv4 link-local addresses.
[[nodiscard]] bool is_roce_v2_address(const facts::Gid& gid, const Ip& ip);

}  // namespace muster::layout
