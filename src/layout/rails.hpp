// Finds the rails of a host: the ports that carry the job's traffic over one kind of fabric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// An active port that is not a rail.
struct LeftOut {
  const facts::RdmaPort* port = nullptr;  // points into the Facts that were examined
  std::string why;                        // such as "100 Gb/sec" or "not InfiniBand"
};

struct HostRails {
  std::vector<Rail> rails;
  std::vector<LeftOut> left_out;
};

// Distinguishes rails from storage and management ports by their properties and not by names. These
// are not rails: ports with at most half of the highest rate; slower ports that have the default
// route; and, if there are more ports than GPUs, ports of cards that are not of the most frequent
// model. A RoCE port is a rail only if it has a GID with an address of this host. Of several GIDs,
// the one of `interface` is preferred, then the one with the lowest index.
[[nodiscard]] HostRails find_rails(const facts::Facts& host, Fabric fabric,
                                   const std::string& interface);

// Whether RoCE v2 can send from this GID: is_roce_v2_address is true for it, and its address
// belongs to the host.
[[nodiscard]] bool is_usable_gid(const facts::Facts& host, const facts::Gid& gid);

// The fabric according to driver and link layer. For RoCE always kRoceIpv4, whatever addresses the
// port has.
[[nodiscard]] Fabric fabric_of(const facts::RdmaPort& port);
[[nodiscard]] std::string_view name_of(Fabric fabric);  // such as "RoCE v2 over IPv4"
[[nodiscard]] bool is_roce(Fabric fabric);

[[nodiscard]] double gbit_of(const std::string& rate);  // 400 for "400 Gb/sec (4X NDR)"; 0: unknown
// Returns "mlx5_0" or "mlx4_0 port 2".
[[nodiscard]] std::string port_name(const std::string& device, int port);

[[nodiscard]] bool is_rail(const Placement& placement, const facts::RdmaPort& port);
[[nodiscard]] bool has_active_port(const facts::Facts& host);

// Whether this interface has an active RDMA port. The kernel does not say which InfiniBand port an
// IPoIB interface uses, so any active InfiniBand port of the host counts. A RoCE port counts if it
// has a usable IPv4 GID on this interface.
[[nodiscard]] bool has_rdma(const facts::Facts& host, const facts::Interface& interface);

}  // namespace muster::layout
