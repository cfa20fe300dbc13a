#include "agent/local_socket.hpp"

#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace muster::agent {
namespace {

constexpr int kBacklog = 512;  // ranks that a host may start at the same moment

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

Result<sys::Fd> listen_locally(const std::string& path) {
  const auto address = address_of(path);
  if (!address) {
    return unexpected(Error{.what = "the path of the run's folder is too long for a socket",
                            .where = {.file = path}});
  }
  sys::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  (void)::unlink(path.c_str());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return unexpected(system_error("cannot listen", path));
  }
  return listener;
}

sys::Fd connect_locally(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return {};
  // Non-blocking: the listener may be stopped and its queue full.
  sys::Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
      0) {
    return {};
  }
  (void)::fcntl(connection.get(), F_SETFL, 0);
  return connection;
}

}  // namespace muster::agent
