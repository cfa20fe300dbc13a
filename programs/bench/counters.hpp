// How many bytes the network devices of this host have moved so far.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace muster::programs::bench {

struct DeviceBytes {
  std::string name;   // "eth0", "mlx5_0:1"
  bool rdma = false;  // else a network interface
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::string port = {};  // of an interface: the InfiniBand port that counts its bytes too
};

// Of all interfaces but the loopback and those on top of others (a bond, a VLAN, a bridge), which
// would count the same bytes again; and of all ports of RDMA devices. `root`: /sys. What cannot be
// read is left out.
[[nodiscard]] std::vector<DeviceBytes> read_counters(const std::filesystem::path& root);

// By name; devices that are in both. What interfaces moved through a port (IP over InfiniBand) is
// not the port's: that was no RDMA.
[[nodiscard]] std::vector<DeviceBytes> difference(const std::vector<DeviceBytes>& before,
                                                  const std::vector<DeviceBytes>& after);

// RDMA devices sent at least half of `least`, which this host must have sent, and more than the
// interfaces did. Never where `least` is so little that others' traffic may be as much.
[[nodiscard]] bool mostly_rdma(const std::vector<DeviceBytes>& moved, std::int64_t least);

// TCP's segments of this host (of its network namespace), as the kernel counts them. Zeros where it
// does not tell.
struct Segments {
  std::int64_t sent = 0;
  std::int64_t resent = 0;
};
[[nodiscard]] Segments count_segments(const std::filesystem::path& file = "/proc/net/snmp");

// 0 where so little was sent that it means nothing.
[[nodiscard]] double resent_share(const Segments& before, const Segments& after);

}  // namespace muster::programs::bench
