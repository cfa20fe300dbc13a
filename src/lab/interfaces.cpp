#include "lab/interfaces.hpp"

#include <cstdint>
#include <cstring>
#include <sstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sys/file.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN, as /proc/net/tcp writes it

void set_address(ifreq& request, in_addr address) {
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_addr = address;
  std::memcpy(&request.ifr_addr, &socket_address, sizeof socket_address);
}

}  // namespace

Result<void> bring_up(const std::string& name, const std::string& address, int prefix_length) {
  const sys::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const auto failed = [&](const char* what) {
    return unexpected(system_error(fmt::format("{} of {}", what, name)));
  };
  if (!address.empty()) {
    in_addr number{};
    ::inet_pton(AF_INET, address.c_str(), &number);
    set_address(request, number);
    if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0) return failed("cannot set the address");
    number.s_addr = ::htonl(~std::uint32_t{0} << (32 - prefix_length));
    set_address(request, number);
    if (::ioctl(socket.get(), SIOCSIFNETMASK, &request) != 0) return failed("cannot set the mask");
  }
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return failed("cannot read the flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return failed("cannot set the flags");
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
