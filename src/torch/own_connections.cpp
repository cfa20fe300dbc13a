#include "torch/own_connections.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace muster {
namespace {

using GetName = int (*)(int, sockaddr*, socklen_t*);

SocketEnd end_of(int socket, GetName get_name) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (get_name(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return socket_end({reinterpret_cast<const char*>(&address), sizeof address});
}

bool is_established(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

void add_connection(int socket, std::set<Connection>& found) {
  Connection one{.local = end_of(socket, &::getsockname), .peer = end_of(socket, &::getpeername)};
  if (one.local.empty() || one.peer.empty() || !is_established(socket)) return;
  found.insert(std::move(one));
}

}  // namespace

SocketEnd socket_end(const std::string& address) {
  sa_family_t family = AF_UNSPEC;
  if (address.size() < sizeof(sockaddr_in6)) return {};
  std::memcpy(&family, address.data(), sizeof family);
  if (family == AF_INET) return address.substr(0, offsetof(sockaddr_in, sin_zero));
  if (family == AF_INET6) return address.substr(0, offsetof(sockaddr_in6, sin6_scope_id));
  return {};
}

std::set<Connection> own_connections() {
  std::set<Connection> found;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int socket = -1;
    (void)std::from_chars(name.data(), name.data() + name.size(), socket);
    add_connection(socket, found);
  }
  if (error) throw std::runtime_error("cannot read /proc/self/fd: " + error.message());
  return found;
}

}  // namespace muster
