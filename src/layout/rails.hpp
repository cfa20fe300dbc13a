// Which ports of a host are rails: those that carry the job's traffic over one kind of fabric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// An active port that is no rail.
struct LeftOut {
  const facts::RdmaPort* port = nullptr;  // of the Facts it was read from
  std::string why;                        // "100 Gb/sec", "not InfiniBand"
};

struct HostRails {
  std::vector<Rail> rails;
  std::vector<LeftOut> left_out;
};

// Storage and management ports are told from rails by what they are, not by their names:
// a port of half the highest rate or less; one that is slower and has the default route; and, if
// there are more ports than GPUs, those of other cards than the model of which there are most. RoCE
// needs a GID with an address of this host; the one of `interface` is taken first, then the lowest
// index.
[[nodiscard]] HostRails find_rails(const facts::Facts& host, Fabric fabric,
                                   const std::string& interface);

// Whether RoCE v2 can send from it: the address is one of the host's own.
[[nodiscard]] bool is_usable_gid(const facts::Facts& host, const facts::Gid& gid);

// By driver and link layer; for RoCE it is kRoceIpv4, whichever addresses the port has.
[[nodiscard]] Fabric fabric_of(const facts::RdmaPort& port);
[[nodiscard]] std::string_view name_of(Fabric fabric);  // "RoCE v2 over IPv4"
[[nodiscard]] bool is_roce(Fabric fabric);

[[nodiscard]] double gbit_of(const std::string& rate);  // "400 Gb/sec (4X NDR)"; 0: not known
// "mlx5_0", "mlx4_0 port 2".
[[nodiscard]] std::string port_name(const std::string& device, int port);

[[nodiscard]] bool is_rail(const Placement& placement, const facts::RdmaPort& port);
[[nodiscard]] bool has_active_port(const facts::Facts& host);

// Whether RDMA goes through this interface.
[[nodiscard]] bool has_rdma(const facts::Facts& host, const facts::Interface& interface);

}  // namespace muster::layout
