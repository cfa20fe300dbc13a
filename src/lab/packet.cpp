#include "lab/packet.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

namespace muster::lab {
namespace {

// Nothing if the text is too short.
template <class Header>
std::optional<Header> header_at(std::string_view text, std::size_t at) {
  Header header{};
  if (text.size() < at + sizeof header) return std::nullopt;
  std::memcpy(&header, text.data() + at, sizeof header);
  return header;
}

}  // namespace

std::optional<Packet> parse_packet(std::string_view frame) {
  const auto ethernet = header_at<ethhdr>(frame, 0);
  if (!ethernet || ::ntohs(ethernet->h_proto) != ETH_P_IP) return std::nullopt;
  const auto ip = header_at<iphdr>(frame, sizeof(ethhdr));
  if (!ip) return std::nullopt;
  Packet packet{
      .from = ::ntohl(ip->saddr), .to = ::ntohl(ip->daddr), .bytes = frame.size() - sizeof(ethhdr)};
  const auto tcp = header_at<tcphdr>(frame, sizeof(ethhdr) + std::size_t{4} * ip->ihl);
  const bool opens = ip->protocol == IPPROTO_TCP && tcp && tcp->syn != 0 && tcp->ack == 0;
  if (opens) packet.opens_port = ::ntohs(tcp->dest);
  return packet;
}

}  // namespace muster::lab
