#include "layout/gid.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace muster::layout {
namespace {

constexpr IpBytes kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 96;
constexpr int kAllBits = 128;

int common_bits(const IpBytes& one, const IpBytes& two) {
  for (int bit = 0; bit < kAllBits; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    if ((((one[at] ^ two[at]) >> (7 - bit % 8)) & 1) != 0) return bit;
  }
  return kAllBits;
}

}  // namespace

std::optional<IpBytes> ip_bytes(std::string_view text) {
  const std::string name(text);
  IpBytes ip = kMapped;
  if (::inet_pton(AF_INET, name.c_str(), ip.data() + kMappedBits / 8) == 1) return ip;
  if (::inet_pton(AF_INET6, name.c_str(), ip.data()) == 1) return ip;
  return std::nullopt;
}

bool is_ipv4(const IpBytes& ip) {
  return std::equal(ip.begin(), ip.begin() + kMappedBits / 8, kMapped.begin());
}

std::string ip_text(const IpBytes& ip) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool v4 = is_ipv4(ip);
  const unsigned char* from = v4 ? ip.data() + kMappedBits / 8 : ip.data();
  return ::inet_ntop(v4 ? AF_INET : AF_INET6, from, text, sizeof text);
}

bool IpRange::contains(const IpBytes& ip) const {
  return common_bits(base, ip) >= bits;
}

IpRange range_of(const IpBytes& ip, int prefix) {
  IpRange range{.base = ip,
                .bits = std::clamp(prefix + (is_ipv4(ip) ? kMappedBits : 0), 0, kAllBits)};
  for (int bit = range.bits; bit < kAllBits; ++bit) {
    auto& byte = range.base[static_cast<std::size_t>(bit / 8)];
    byte = static_cast<unsigned char>(byte & ~(0x80 >> (bit % 8)));
  }
  return range;
}

std::string to_text(const IpRange& range) {
  return fmt::format("{}/{}", ip_text(range.base),
                     range.bits - (is_ipv4(range.base) ? kMappedBits : 0));
}

IpRange smallest_range(std::span<const IpBytes> addresses) {
  int bits = kAllBits;
  for (const IpBytes& ip : addresses) bits = std::min(bits, common_bits(addresses.front(), ip));
  const bool v4 = is_ipv4(addresses.front());
  return range_of(addresses.front(), bits - (v4 ? kMappedBits : 0));
}

bool is_roce_v2_address(const facts::Gid& gid, const IpBytes& ip) {
  constexpr unsigned char kLoopback = 127;
  if (gid.type != "RoCE v2") return false;
  if (is_ipv4(ip)) return ip[12] != kLoopback && ip[12] != 0;
  const bool is_global = (ip[0] & 0xe0) == 0x20;
  const bool is_unique_local = (ip[0] & 0xfe) == 0xfc;
  return is_global || is_unique_local;
}

}  // namespace muster::layout
