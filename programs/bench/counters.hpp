// Counts the bytes that this host's network devices have moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace muster::programs::bench {

struct DeviceBytes {
  std::string name;   // "eth0", "mlx5_0:1"
  bool rdma = false;  // false: a network interface
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::string port = {};  // for an interface: the InfiniBand port that counts the same bytes
};

// Reads the counters of all network interfaces and RDMA ports. Leaves out loopback and interfaces
// on top of others (bonds, VLANs, bridges), which would count the same bytes again, and counters
// that cannot be read. `root`: normally /sys.
[[nodiscard]] std::vector<DeviceBytes> read_counters(const std::filesystem::path& root);

// The difference by name, for devices that are in both lists. Bytes that an interface moved through
// a port (IP over InfiniBand) are subtracted from the port, because they were not RDMA.
[[nodiscard]] std::vector<DeviceBytes> difference(const std::vector<DeviceBytes>& before,
                                                  const std::vector<DeviceBytes>& after);

// Whether RDMA devices sent at least half of `least`, the bytes that this host must have sent, and
// more than the interfaces did. Returns false if `least` is so small that other traffic could
// exceed it.
[[nodiscard]] bool mostly_rdma(const std::vector<DeviceBytes>& moved, std::int64_t least);

// The TCP segments of this host (of its network namespace), as the kernel counts them. Zeros if the
// kernel does not report them.
struct Segments {
  std::int64_t sent = 0;
  std::int64_t resent = 0;
};
[[nodiscard]] Segments count_segments(const std::filesystem::path& file = "/proc/net/snmp");

// Returns the share of the segments between `before` and `after` that were resent, or 0 if too few
// were sent to judge.
[[nodiscard]] double resent_share(const Segments& before, const Segments& after);

}  // namespace muster::programs::bench
