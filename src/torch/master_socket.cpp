#include "torch/master_socket.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Returns null if the master is given by name. Other hosts may resolve the name to another address
// of this host than this host itself does, so there is no single address to bind to.
Addresses parse(const Endpoint& master) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(master.port);
  (void)::getaddrinfo(master.address.c_str(), port.c_str(), &wanted, &list);
  return {list, [](addrinfo* one) {
            if (one != nullptr) ::freeaddrinfo(one);
          }};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
}

// Returns nothing if this host does not have the address.
std::optional<int> bind_to(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(socket, address.ai_addr, address.ai_addrlen) == 0) {
    return socket;
  }
  const int error = errno;
  if (socket >= 0) ::close(socket);
  if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) return std::nullopt;
  throw std::runtime_error(std::strerror(error));
}

}  // namespace

std::optional<int> bind_master(const Job& job) {
  const bool one_host = job.local_size == job.size;
  const Addresses address = parse(*job.master);
  if (!address || (is_loopback(address->ai_addr) && !one_host)) return std::nullopt;
  return bind_to(*address);
}

}  // namespace muster
