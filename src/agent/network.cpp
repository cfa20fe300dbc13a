#include "agent/network.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/printable.hpp"

namespace muster::agent {
namespace {

const unsigned char* bytes_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return reinterpret_cast<const unsigned char*>(
        &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  return reinterpret_cast<const unsigned char*>(
      &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::optional<std::string> find_interface(const AddressRange& subnet) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (!subnet.contains(family, bytes_of(*one->ifa_addr))) continue;
    const std::string name = one->ifa_name;
    return name.substr(0, name.find(':'));  // "eth0:1" labels an address of eth0
  }
  return std::nullopt;
}

}  // namespace

bool AddressRange::contains(int other_family, const unsigned char* other) const {
  if (other_family != family) return false;
  for (int bit = 0; bit < prefix; bit += 8) {
    const auto index = static_cast<std::size_t>(bit / 8);
    const int kept = std::min(8, prefix - bit);
    const auto mask = static_cast<unsigned char>(0xff << (8 - kept));
    if (((address[index] ^ other[index]) & mask) != 0) return false;
  }
  return true;
}

Result<AddressRange> parse_range(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  AddressRange subnet{.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6};
  subnet.address.resize(subnet.family == AF_INET ? 4 : 16);
  const int bits = static_cast<int>(subnet.address.size()) * 8;
  bool good = slash != std::string::npos &&
              ::inet_pton(subnet.family, address.c_str(), subnet.address.data()) == 1;
  if (good) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + slash + 1, end, subnet.prefix);
    good = parsed.ec == std::errc() && parsed.ptr == end && subnet.prefix >= 0 &&
           subnet.prefix <= bits;
  }
  if (good) return subnet;
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("'{}' is not a subnet", printable(text.substr(0, 60))),
            .hint = "write it as 198.18.0.0/16"});
}

std::map<std::string, std::string> network_variables(
    const std::string& interface, const std::map<std::string, std::string>& rails) {
  std::map<std::string, std::string> variables = {
      {"GLOO_SOCKET_IFNAME", interface},
      {"NCCL_SOCKET_IFNAME", "=" + interface},  // without '=', eth1 would also match eth10
      {"TP_SOCKET_IFNAME", interface},
      {"FI_TCP_IFACE", interface},
      {"FI_SOCKETS_IFACE", interface},
      {"CCL_KVS_IFACE", interface},
      {"UCX_NET_DEVICES", interface},
  };
  for (const auto& [name, value] : rails) variables.insert_or_assign(name, value);
  return variables;
}

void leave_gids_to_user(const std::map<std::string, std::string>& environment,
                        std::map<std::string, std::string>& variables) {
  for (const char* choice :
       {"NCCL_IB_HCA", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"}) {
    if (!environment.contains(choice)) continue;
    variables.erase("NCCL_IB_GID_INDEX");
    variables.erase("NCCL_IB_ADDR_RANGE");
    return;
  }
}

std::map<std::string, std::string> ipv6_variables(const std::string& interface) {
  return {{"NCCL_SOCKET_FAMILY", "AF_INET6"},
          {"UCX_TCP_AF_PRIO", "inet6,inet"},
          // For IPv4, Open MPI takes one subnet for all hosts; for IPv6, only the interface of each
          // host.
          {"OMPI_MCA_btl_tcp_if_include", interface},
          {"OMPI_MCA_btl_tcp_disable_family", "4"}};
}

Result<std::string> interface_in(const std::string& subnet) {
  MUSTER_TRY(const AddressRange wanted, parse_range(subnet));
  if (auto interface = find_interface(wanted)) return *std::move(interface);
  return unexpected(Error{
      .what = fmt::format("this host has no interface in {}, or the interface is down", subnet)});
}

}  // namespace muster::agent
