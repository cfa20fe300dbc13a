#include <algorithm>

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "facts/interfaces.hpp"
#include "facts/netlink.hpp"

namespace muster::facts {
namespace {

std::string gateway_of(int family, const Attributes& attributes) {
  if (const auto direct = bytes_of(attributes, RTA_GATEWAY); !direct.empty()) {
    return ip_text(family, direct);
  }
  // An IPv4 route through an IPv6 neighbour has RTA_VIA: two bytes with the family, then the
  // address.
  const std::string_view via = bytes_of(attributes, RTA_VIA);
  return via.size() < 2 ? "" : ip_text(value_of<std::uint16_t>(via), via.substr(2));
}

std::string interface_name(unsigned index) {
  char name[IF_NAMESIZE] = {};
  return ::if_indextoname(index, name) == nullptr ? "" : name;
}

void add_way(Route route, unsigned index, std::vector<Route>& routes) {
  route.interface = interface_name(index);
  if (!route.interface.empty()) routes.push_back(std::move(route));
}

void add_multipath(int family, const Route& route, std::string_view ways,
                   std::vector<Route>& routes) {
  while (ways.size() >= sizeof(rtnexthop)) {
    const auto way = value_of<rtnexthop>(ways);
    if (way.rtnh_len < sizeof way || way.rtnh_len > ways.size()) return;
    Route one = route;
    one.gateway =
        gateway_of(family, parse_attributes(ways.substr(sizeof way, way.rtnh_len - sizeof way)));
    add_way(std::move(one), static_cast<unsigned>(way.rtnh_ifindex), routes);
    ways.remove_prefix(std::min<std::size_t>(ways.size(), (way.rtnh_len + 3U) & ~3U));
  }
}

bool is_wanted(int family, const Message& message, const rtmsg& fixed) {
  if (message.type != RTM_NEWROUTE || fixed.rtm_family != family) return false;
  const auto table = value_of<std::uint32_t>(bytes_of(message.attributes, RTA_TABLE));
  return fixed.rtm_type == RTN_UNICAST && (table == 0 ? fixed.rtm_table : table) == RT_TABLE_MAIN;
}

Route route_of(const rtmsg& fixed, const Attributes& attributes) {
  const std::string network = ip_text(fixed.rtm_family, bytes_of(attributes, RTA_DST));
  const char* const all = fixed.rtm_family == AF_INET ? "0.0.0.0" : "::";
  return {.destination =
              fmt::format("{}/{}", network.empty() ? all : network, unsigned{fixed.rtm_dst_len}),
          .interface = {},
          .gateway = gateway_of(fixed.rtm_family, attributes),
          .metric = static_cast<int>(value_of<std::uint32_t>(bytes_of(attributes, RTA_PRIORITY)))};
}

Result<void> add_routes(std::uint8_t family, std::vector<Route>& routes) {
  MUSTER_TRY(const Answers answers, ask_kernel(RTM_GETROUTE, family, sizeof(rtmsg)));
  for (const Message& message : answers.messages) {
    const auto fixed = value_of<rtmsg>(message.fixed);
    if (!is_wanted(family, message, fixed)) continue;
    const Route route = route_of(fixed, message.attributes);
    if (route.destination.starts_with("fe80:")) continue;  // every interface has such a route
    const std::string_view ways = bytes_of(message.attributes, RTA_MULTIPATH);
    if (!ways.empty()) {
      add_multipath(family, route, ways, routes);
    } else {
      add_way(route, value_of<std::uint32_t>(bytes_of(message.attributes, RTA_OIF)), routes);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Route>> read_routes() {
  std::vector<Route> routes;
  MUSTER_CHECK(add_routes(AF_INET, routes));
  (void)add_routes(AF_INET6, routes);  // fails if the kernel has no IPv6
  return routes;
}

}  // namespace muster::facts
