#include "lab/interfaces.hpp"

#include <cstdint>
#include <cstring>
#include <sstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN in /proc/net/tcp

void set_address(ifreq& request, in_addr address) {
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_addr = address;
  std::memcpy(&request.ifr_addr, &socket_address, sizeof socket_address);
}

unexpected<Error> failed(const char* what, const std::string& name) {
  return unexpected(system_error(fmt::format("cannot {} of {}", what, name)));
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

Result<void> add_ipv4(int socket, const std::string& name, const HostAddress& address) {
  ifreq request = request_for(name);
  in_addr number{};
  ::inet_pton(AF_INET, address.ip.c_str(), &number);
  set_address(request, number);
  if (::ioctl(socket, SIOCSIFADDR, &request) != 0) return failed("set the address", name);
  number.s_addr = ::htonl(~std::uint32_t{0} << (32 - address.prefix_length));
  set_address(request, number);
  if (::ioctl(socket, SIOCSIFNETMASK, &request) != 0) return failed("set the mask", name);
  return {};
}

// Switches off duplicate address detection, during which an address cannot be used for one or two
// seconds.
Result<void> trust_addresses(const std::string& name) {
  const std::string path = fmt::format("/proc/sys/net/ipv6/conf/{}/accept_dad", name);
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (::write(file.get(), "0", 1) == 1) return {};
  return unexpected(system_error("this machine's kernel has no IPv6, or it is switched off", path));
}

Result<void> add_ipv6(const std::string& name, const HostAddress& address) {
  MUSTER_CHECK(trust_addresses(name));
  const sys::Fd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  in6_ifreq request{};
  ::inet_pton(AF_INET6, address.ip.c_str(), &request.ifr6_addr);
  request.ifr6_prefixlen = static_cast<std::uint32_t>(address.prefix_length);
  request.ifr6_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0) return failed("set the address", name);
  return {};
}

}  // namespace

Result<void> bring_up(const std::string& name, std::span<const HostAddress> addresses) {
  const sys::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const HostAddress& address : addresses) {
    const bool is_ipv6 = address.ip.find(':') != std::string::npos;
    MUSTER_CHECK(is_ipv6 ? add_ipv6(name, address) : add_ipv4(socket.get(), name, address));
  }
  ifreq request = request_for(name);
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return failed("read the flags", name);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return failed("set the flags", name);
  return {};
}

unsigned long listening_socket(pid_t pid, int port) {
  const auto table = sys::read_file(fmt::format("/proc/{}/net/tcp", pid));
  if (!table) return 0;
  std::istringstream lines(*table);
  const std::string wanted = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout;
    unsigned long inode = 0;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
        inode;
    if (state == kListen && local.ends_with(wanted)) return inode;
  }
  return 0;
}

}  // namespace muster::lab
