#include "agent/network.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "base/printable.hpp"
#include "sys/file.hpp"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRdmaFolder = "/sys/class/infiniband";
constexpr std::size_t kMaxAttribute = 4096;  // bytes of a file in /sys

std::string first_line(const fs::path& file) {
  const auto text = sys::read_file(file.string(), kMaxAttribute);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int> gid_index(const fs::path& port, const std::string& interface) {
  for (const std::string& index : names_in(port / "gids")) {
    const fs::path attributes = port / "gid_attrs";
    if (first_line(attributes / "ndevs" / index) != interface) continue;
    if (first_line(attributes / "types" / index) != "RoCE v2") continue;
    const bool is_ipv4 =
        first_line(port / "gids" / index).starts_with("0000:0000:0000:0000:0000:ffff:");
    int number = 0;
    const auto parsed = std::from_chars(index.data(), index.data() + index.size(), number);
    if (is_ipv4 && parsed.ec == std::errc()) return number;
  }
  return std::nullopt;
}

const unsigned char* bytes_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return reinterpret_cast<const unsigned char*>(
        &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  return reinterpret_cast<const unsigned char*>(
      &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::optional<std::string> interface_in(const Subnet& subnet) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (!subnet.contains(family, bytes_of(*one->ifa_addr))) continue;
    const std::string name = one->ifa_name;
    return name.substr(0, name.find(':'));  // "eth0:1" is a label of an address of eth0
  }
  return std::nullopt;
}

}  // namespace

bool Subnet::contains(int other_family, const unsigned char* other) const {
  if (other_family != family) return false;
  for (int bit = 0; bit < prefix; bit += 8) {
    const auto index = static_cast<std::size_t>(bit / 8);
    const int kept = std::min(8, prefix - bit);
    const auto mask = static_cast<unsigned char>(0xff << (8 - kept));
    if (((address[index] ^ other[index]) & mask) != 0) return false;
  }
  return true;
}

Result<Subnet> parse_subnet(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  Subnet subnet{.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6};
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
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("'{}' is no subnet", printable(text.substr(0, 60))),
                          .hint = "write it as 198.18.0.0/16"});
}

std::optional<RdmaDevice> find_rdma(const std::string& folder, const std::string& interface) {
  for (const std::string& device : names_in(folder)) {
    const fs::path ports = fs::path(folder) / device / "ports";
    for (const std::string& port : names_in(ports)) {
      const auto index = gid_index(ports / port, interface);
      if (index) return RdmaDevice{.port = device + ":" + port, .gid_index = *index};
    }
  }
  return std::nullopt;
}

std::map<std::string, std::string> network_variables(const std::string& interface,
                                                     const std::optional<RdmaDevice>& rdma) {
  std::map<std::string, std::string> variables = {
      {"GLOO_SOCKET_IFNAME", interface},
      {"NCCL_SOCKET_IFNAME", "=" + interface},  // without '=' it is a prefix, and eth1 is eth10 too
      {"TP_SOCKET_IFNAME", interface},
      {"FI_TCP_IFACE", interface},
      {"FI_SOCKETS_IFACE", interface},
      {"CCL_KVS_IFACE", interface},
  };
  if (rdma) {
    variables["NCCL_IB_HCA"] = "=" + rdma->port;
    variables["NCCL_IB_GID_INDEX"] = std::to_string(rdma->gid_index);
  } else {
    variables["UCX_NET_DEVICES"] = interface;  // with RDMA it would forbid the device
  }
  return variables;
}

Result<std::map<std::string, std::string>> network_variables(const std::string& subnet, bool rdma) {
  MUSTER_TRY(const Subnet wanted, parse_subnet(subnet));
  const auto interface = interface_in(wanted);
  if (!interface) {
    return unexpected(
        Error{.what = fmt::format("this host has no interface in {} that is up", subnet)});
  }
  return network_variables(*interface, rdma ? find_rdma(kRdmaFolder, *interface) : std::nullopt);
}

}  // namespace muster::agent
