#include "lab/packet.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>

namespace muster::lab {
namespace {

// Returns nothing if the text is too short.
template <class Header>
std::optional<Header> header_at(std::string_view text, std::size_t at) {
  Header header{};
  if (text.size() < at + sizeof header) return std::nullopt;
  std::memcpy(&header, text.data() + at, sizeof header);
  return header;
}

// The port, if the packet opens a new connection.
std::optional<int> opened_port(int protocol, std::string_view text, std::size_t at) {
  const auto tcp = header_at<tcphdr>(text, at);
  const bool opens = protocol == IPPROTO_TCP && tcp && tcp->syn != 0 && tcp->ack == 0;
  return opens ? std::optional<int>(::ntohs(tcp->dest)) : std::nullopt;
}

std::optional<Packet> parse_ipv4(std::string_view frame) {
  const auto ip = header_at<iphdr>(frame, sizeof(ethhdr));
  if (!ip) return std::nullopt;
  const std::size_t payload = sizeof(ethhdr) + std::size_t{4} * ip->ihl;
  return Packet{.from = ::ntohl(ip->saddr),
                .to = ::ntohl(ip->daddr),
                .bytes = frame.size() - sizeof(ethhdr),
                .opens_port = opened_port(ip->protocol, frame, payload)};
}

// Does not search extension headers between IPv6 and TCP, because hosts send none.
std::optional<Packet> parse_ipv6(std::string_view frame) {
  const auto ip = header_at<ip6_hdr>(frame, sizeof(ethhdr));
  if (!ip) return std::nullopt;
  return Packet{.bytes = frame.size() - sizeof(ethhdr),
                .opens_port = opened_port(ip->ip6_nxt, frame, sizeof(ethhdr) + sizeof(ip6_hdr))};
}

}  // namespace

std::optional<Packet> parse_packet(std::string_view frame) {
  const auto ethernet = header_at<ethhdr>(frame, 0);
  const int kind = ethernet ? ::ntohs(ethernet->h_proto) : 0;
  if (kind == ETH_P_IP) return parse_ipv4(frame);
  return kind == ETH_P_IPV6 ? parse_ipv6(frame) : std::nullopt;
}

}  // namespace muster::lab
