#include "torch/gloo_network.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/environment.hpp"

namespace muster::gloo {
namespace {

using Addresses = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

// The addresses of all interfaces; null if the kernel does not report them.
Addresses addresses_here() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) list = nullptr;
  return {list, [](ifaddrs* one) {
            if (one != nullptr) ::freeifaddrs(one);
          }};
}

std::set<std::string> interfaces_here() {
  std::set<std::string> names;
  const Addresses all = addresses_here();
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    names.insert(one->ifa_name);
  }
  return names;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string text_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  const int failed =
      ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? std::string() : std::string(text.data());
}

bool is_loopback_number(const std::string& text) {
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// Finds our address on the route to the target. Connecting a datagram socket sends nothing; it only
// makes the kernel choose a route.
std::optional<std::string> source_towards(const addrinfo& target) {
  const int socket = ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::nullopt;
  std::optional<std::string> source;
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  if (::connect(socket, target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(socket, address, &length) == 0) {
    source = text_of(address, length);
  }
  ::close(socket);
  return source;
}

}  // namespace

std::vector<std::string> named_interfaces() {
  const char* set = std::getenv("GLOO_SOCKET_IFNAME");
  std::vector<std::string> names = listed_names(set == nullptr ? "" : set);
  const std::set<std::string> here = names.empty() ? std::set<std::string>() : interfaces_here();
  for (const std::string& name : names) {
    if (here.contains(name)) continue;
    throw std::runtime_error(
        "GLOO_SOCKET_IFNAME names " + name +
        ", but this host has no such interface\n  hint: it has " + joined(here) +
        "; interface names may differ between hosts: muster run sets the right one on each host");
  }
  return names;
}

bool has_address(const std::string& interface, const std::string& address) {
  const Addresses all = addresses_here();
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || interface != one->ifa_name) continue;
    const bool is_ipv6 = one->ifa_addr->sa_family == AF_INET6;
    const socklen_t length = is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (text_of(one->ifa_addr, length) == address) return true;
  }
  return false;
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || is_loopback_number(address);
}

std::string address_towards(const std::string& master, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(master.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (failed != 0) {
    throw std::runtime_error("MASTER_ADDR=" + master +
                             " does not resolve on this host: " + ::gai_strerror(failed) +
                             "\n  hint: set it to the address of rank 0's host");
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::string loopback;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    const auto source = source_towards(*one);
    if (!source) continue;
    if (!is_loopback_number(*source)) return *source;
    loopback = text_of(one->ai_addr, one->ai_addrlen);
  }
  if (!loopback.empty()) {
    throw std::runtime_error(
        "MASTER_ADDR=" + master + " means " + loopback +
        " on this host, an address that other hosts cannot reach\n  hint: set MASTER_ADDR to the "
        "address of rank 0's host in the job's network, or GLOO_SOCKET_IFNAME to the interface");
  }
  throw std::runtime_error("this host has no route to the master at " + master +
                           "\n  hint: MASTER_ADDR must be in a network that all hosts share; "
                           "muster check shows which one that is");
}

}  // namespace muster::gloo
