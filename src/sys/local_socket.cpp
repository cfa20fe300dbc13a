#include "sys/local_socket.hpp"

#include <array>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/local_address.hpp"

namespace muster::sys {
namespace {

constexpr int kBacklog = 512;            // a host may start this many ranks at the same moment
constexpr std::size_t kDescriptors = 2;  // the most that one message carries

// A buffer for the descriptors that come with a message.
struct Beside {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptors * sizeof(int))> bytes{};
};

}  // namespace

Result<Fd> listen_locally(const std::string& path) {
  const auto address = local_address(path);
  if (!address) {
    return unexpected(Error{.what = "the path is too long for a socket", .where = {.file = path}});
  }
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  (void)::unlink(path.c_str());
  if (::bind(listener.get(), as_sockaddr(*address), sizeof *address) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return unexpected(system_error("cannot listen", path));
  }
  return listener;
}

Fd connect_locally(const std::string& path) {
  const auto address = local_address(path);
  if (!address) return {};
  // Non-blocking, because the listener may be stopped with a full queue.
  Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(connection.get(), as_sockaddr(*address), sizeof *address) != 0) {
    return {};
  }
  (void)::fcntl(connection.get(), F_SETFL, 0);
  return connection;
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

void send_descriptors(int socket, std::span<const int> descriptors) {
  char line = '\n';
  iovec part{.iov_base = &line, .iov_len = 1};
  Beside beside;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  (void)::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t read_with_descriptors(int socket, std::span<char> bytes, std::vector<Fd>& descriptors) {
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  Beside beside;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes.data();
  message.msg_controllen = beside.bytes.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t size = header->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
      descriptors.emplace_back(number);
    }
  }
  return count;
}

}  // namespace muster::sys
