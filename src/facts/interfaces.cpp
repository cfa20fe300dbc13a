#include "facts/interfaces.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "facts/netlink.hpp"
#include "sys/file.hpp"

namespace muster::facts {
namespace {

template <class List>
bool among(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_tunnel(const Link& link) {
  constexpr std::array kMade = {"gre",    "gretap",    "ip6gre", "ip6gretap", "ip6tnl",
                                "ipip",   "sit",       "vti",    "vti6",      "vxlan",
                                "geneve", "wireguard", "xfrm",   "erspan",    "ip6erspan"};
  constexpr std::array kHardware = {ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT, ARPHRD_IPGRE,
                                    ARPHRD_IP6GRE, ARPHRD_PPP,     ARPHRD_NONE};
  return among(kMade, link.made) ||
         std::find(kHardware.begin(), kHardware.end(), link.hardware) != kHardware.end();
}

// The kind of a link. A bridge counts as virtual here, whatever its members are.
InterfaceKind kind_alone(const Link& link) {
  // A "tun" that is not a tunnel according to its hardware type is a tap.
  constexpr std::array kVirtual = {"bridge", "dummy", "ifb", "tun", "nlmon", "vrf", "macvtap"};
  if ((link.flags & IFF_LOOPBACK) != 0) return InterfaceKind::kLoopback;
  if (link.hardware == ARPHRD_INFINIBAND) return InterfaceKind::kInfiniband;
  if (is_tunnel(link)) return InterfaceKind::kTunnel;
  if (among(kVirtual, link.made)) return InterfaceKind::kVirtual;
  // A veth on a bridge leads to a container. A veth without one is a container's own end and leads
  // out.
  if (link.made == "veth" && link.master != 0) return InterfaceKind::kVirtual;
  return InterfaceKind::kPort;
}

bool leads_out(const Link& link) {
  const InterfaceKind kind = kind_alone(link);
  return link.made != "veth" &&
         (kind == InterfaceKind::kPort || kind == InterfaceKind::kInfiniband);
}

// The text up to the NUL that ends it.
std::string text_of(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

Link link_of(const Message& message) {
  const auto fixed = value_of<ifinfomsg>(message.fixed);
  const auto info = parse_attributes(bytes_of(message.attributes, IFLA_LINKINFO));
  return {.index = fixed.ifi_index,
          .name = text_of(bytes_of(message.attributes, IFLA_IFNAME)),
          .flags = fixed.ifi_flags,
          .hardware = fixed.ifi_type,
          .made = text_of(bytes_of(info, IFLA_INFO_KIND)),
          .master = value_of<int>(bytes_of(message.attributes, IFLA_MASTER)),
          .mtu = value_of<int>(bytes_of(message.attributes, IFLA_MTU))};
}

Result<std::vector<Link>> read_links() {
  MUSTER_TRY(const Answers answers, ask_kernel(RTM_GETLINK, AF_UNSPEC, sizeof(ifinfomsg)));
  std::vector<Link> links;
  for (const Message& message : answers.messages) {
    if (message.type == RTM_NEWLINK) links.push_back(link_of(message));
  }
  return links;
}

// The speed that the card reports through the kernel, or -1. There is none without a cable.
int speed_of(int socket, const std::string& name) {
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return -1;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == 0 || speed >= 0xFFFF'FFFFU || speed == 0xFFFFU ? -1 : static_cast<int>(speed);
}

// Only IPv6 addresses have restrictions. For IPv4, the flag for temporary addresses just marks all
// but the first address of a network.
std::string_view read_caveat(const Message& message, const ifaddrmsg& fixed) {
  if (fixed.ifa_family != AF_INET6) return {};
  const std::string_view flags = bytes_of(message.attributes, IFA_FLAGS);
  return caveat_of(flags.empty() ? fixed.ifa_flags : value_of<std::uint32_t>(flags));
}

Result<void> add_addresses(const std::vector<Link>& links, std::vector<Interface>& interfaces) {
  MUSTER_TRY(const Answers answers, ask_kernel(RTM_GETADDR, AF_UNSPEC, sizeof(ifaddrmsg)));
  for (const Message& message : answers.messages) {
    const auto fixed = value_of<ifaddrmsg>(message.fixed);
    if (message.type != RTM_NEWADDR) continue;
    // On a point-to-point link, IFA_ADDRESS is the address of the other end.
    std::string_view bytes = bytes_of(message.attributes, IFA_LOCAL);
    if (bytes.empty()) bytes = bytes_of(message.attributes, IFA_ADDRESS);
    std::string ip = ip_text(fixed.ifa_family, bytes);
    for (std::size_t i = 0; i < links.size() && !ip.empty(); ++i) {
      if (links[i].index != static_cast<int>(fixed.ifa_index)) continue;
      interfaces[i].addresses.push_back({.ip = std::move(ip),
                                         .prefix = fixed.ifa_prefixlen,
                                         .caveat = std::string(read_caveat(message, fixed))});
      break;
    }
  }
  return {};
}

}  // namespace

std::string_view caveat_of(std::uint32_t flags) {
  if ((flags & IFA_F_DADFAILED) != 0) return kDuplicate;
  if ((flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0) return kTentative;
  if ((flags & IFA_F_DEPRECATED) != 0) return kDeprecated;
  return (flags & IFA_F_TEMPORARY) != 0 ? kTemporary : std::string_view();
}

std::vector<InterfaceKind> kinds_of(const std::vector<Link>& links) {
  std::vector<InterfaceKind> kinds;
  for (const Link& link : links) {
    const bool has_port = std::any_of(links.begin(), links.end(), [&link](const Link& member) {
      return member.master == link.index && leads_out(member);
    });
    kinds.push_back(link.made == "bridge" && has_port ? InterfaceKind::kPort : kind_alone(link));
  }
  return kinds;
}

bool leads_out(const Interface& interface) {
  return interface.up && interface.kind != InterfaceKind::kLoopback &&
         interface.kind != InterfaceKind::kVirtual;
}

Result<std::vector<Interface>> read_interfaces() {
  MUSTER_TRY(const std::vector<Link> links, read_links());
  const std::vector<InterfaceKind> kinds = kinds_of(links);
  const sys::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::vector<Interface> interfaces;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    interfaces.push_back({.name = link.name,
                          .kind = kinds[i],
                          .up = (link.flags & IFF_UP) != 0 && (link.flags & IFF_LOWER_UP) != 0,
                          .mtu = link.mtu,
                          .speed_mbit = speed_of(socket.get(), link.name),
                          .made = link.made});
  }
  MUSTER_CHECK(add_addresses(links, interfaces));
  return interfaces;
}

}  // namespace muster::facts
