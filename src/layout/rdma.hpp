// Which RDMA device, port and GID a host uses, if any.
#pragma once

#include <optional>
#include <string>

#include "facts/facts.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// IPv4-mapped (::ffff:a.b.c.d) and of type "RoCE v2".
[[nodiscard]] bool is_usable_gid(const facts::Gid& gid);

[[nodiscard]] bool is_native(const facts::RdmaPort& port);  // InfiniBand, which needs no GID index

[[nodiscard]] bool has_active_port(const facts::Facts& host);

// An active port that is native InfiniBand or has a usable GID; the one that belongs to `interface`
// before all others.
[[nodiscard]] std::optional<Rdma> choose_rdma(const facts::Facts& host,
                                              const std::string& interface);

// Whether RDMA goes through this interface.
[[nodiscard]] bool has_rdma(const facts::Facts& host, const facts::Interface& interface);

}  // namespace muster::layout
