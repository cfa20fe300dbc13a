#include "layout/gid.hpp"

#include <algorithm>
#include <array>

namespace muster::layout {

std::optional<Ip> ip_of_gid(std::string_view gid) {
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto ip = parse_ip(gid);
  if (!ip || ip->family != Family::kIpv6) return std::nullopt;
  if (!std::equal(kMapped.begin(), kMapped.end(), ip->bytes.begin())) return ip;
  Ip mapped{.family = Family::kIpv4};
  std::copy(ip->bytes.begin() + kMapped.size(), ip->bytes.end(), mapped.bytes.begin());
  return mapped;
}

bool is_roce_v2_address(const facts::Gid& gid, const Ip& ip) {
  if (gid.type != "RoCE v2") return false;
  if (ip.family == Family::kIpv4) return !is_loopback(ip) && ip.bytes[0] != 0;
  const bool is_global = (ip.bytes[0] & 0xe0) == 0x20;
  const bool is_unique_local = (ip.bytes[0] & 0xfe) == 0xfc;
  return is_global || is_unique_local;
}

}  // namespace muster::layout
