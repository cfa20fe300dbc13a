#include "facts/way_back.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::facts {
namespace {

using std::chrono::milliseconds;

// Held, so that nothing listens on it.
struct HeldPort {
  sys::Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int number = 0;

  HeldPort() {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {::htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    number = ::ntohs(address.sin_port);
  }
};

TEST(WayBack, IsThereWhereAConnectionIsRefusedOrTaken) {
  const HeldPort port;
  EXPECT_EQ(why_unreachable({"127.0.0.1"}, port.number, milliseconds(5000)), "");
  ASSERT_EQ(::listen(port.socket.get(), 1), 0);
  EXPECT_EQ(why_unreachable({"127.0.0.1"}, port.number, milliseconds(5000)), "");
}

TEST(WayBack, NeedsOneAddressThatAnswers) {
  const HeldPort port;
  EXPECT_EQ(why_unreachable({"nonsense", "127.0.0.1"}, port.number, milliseconds(5000)), "");
  EXPECT_EQ(why_unreachable({"nonsense"}, 9, milliseconds(5000)),
            "nonsense port 9: Invalid argument");
  EXPECT_EQ(why_unreachable({}, 9, milliseconds(5000)), "");
}

// A listener whose queue is full drops what else comes, as a firewall does.
TEST(WayBack, IsMissingWhereNothingAnswers) {
  const HeldPort port;
  ASSERT_EQ(::listen(port.socket.get(), 0), 0);
  sockaddr_in to{.sin_family = AF_INET,
                 .sin_port = ::htons(static_cast<std::uint16_t>(port.number)),
                 .sin_addr = {::htonl(INADDR_LOOPBACK)}};
  std::vector<sys::Fd> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&to), sizeof to);
  }
  const std::string why = why_unreachable({"127.0.0.1"}, port.number, milliseconds(300));
  EXPECT_TRUE(why.ends_with(": no answer within 0.3 s")) << why;
}

TEST(WayBack, MayGoOverIpv6) {
  sys::SocketAddress own = *sys::parse_socket_address("::1", 0);
  const sys::Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), own.pointer(), own.length), 0);
  ASSERT_EQ(::getsockname(socket.get(), own.pointer(), &own.length), 0);
  EXPECT_EQ(why_unreachable({"::1"}, own.port(), milliseconds(5000)), "");
}

}  // namespace
}  // namespace muster::facts
