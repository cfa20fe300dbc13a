#include "torch/own_connections.hpp"

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace muster {
namespace {

using GetName = int (*)(int, sockaddr*, socklen_t*);

std::optional<std::string> end_of(int socket, GetName get_name) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (get_name(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  const auto* bytes = reinterpret_cast<const char*>(&address);
  if (address.ss_family == AF_INET) return std::string(bytes, offsetof(sockaddr_in, sin_zero));
  if (address.ss_family != AF_INET6) return std::nullopt;
  return std::string(bytes, offsetof(sockaddr_in6, sin6_scope_id));
}

bool is_established(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

}  // namespace

std::set<Connection> own_connections() {
  std::set<Connection> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int socket = -1;
    (void)std::from_chars(name.data(), name.data() + name.size(), socket);
    auto local = end_of(socket, &::getsockname);
    auto peer = local ? end_of(socket, &::getpeername) : std::nullopt;
    if (peer && is_established(socket)) found.insert({*std::move(local), *std::move(peer)});
  }
  return found;
}

}  // namespace muster
