#include "facts/listeners.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_tree.hpp"
#include "sys/file.hpp"

namespace muster::facts {
namespace {

constexpr auto kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";
constexpr auto kListen =
    "   0: 0B0012C6:7531 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "4711 1 0 100 0 0 10 0\n";
constexpr auto kTalk =
    "   1: 0100007F:0016 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 "
    "4712 1 0 20 4 30 10 -1\n";
constexpr auto kListen6 =
    "   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0\n";

TEST(Listening, address_port_user_and_inode) {
  const auto sockets = parse_listening(std::string(kHead) + kListen);
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_EQ(sockets[0].address, "198.18.0.11");
  EXPECT_EQ(sockets[0].port, 30001);
  EXPECT_EQ(sockets[0].uid, 1000U);
  EXPECT_EQ(sockets[0].inode, 4711U);
}

TEST(Listening, of_ipv6) {
  const auto sockets = parse_listening(std::string(kHead) + kListen6);
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_EQ(sockets[0].address, "::1");
  EXPECT_EQ(sockets[0].port, 22);
}

TEST(Listening, connections_are_not) {
  EXPECT_EQ(parse_listening(std::string(kHead) + kListen + kTalk).size(), 1U);
  EXPECT_TRUE(parse_listening(std::string(kHead) + kTalk).empty());
  EXPECT_TRUE(parse_listening(kHead).empty());
  EXPECT_TRUE(parse_listening("").empty());
}

TEST(Listeners, have_owners_where_these_can_be_seen) {
  FakeTree proc;
  proc.write("net/tcp", std::string(kHead) + kListen + kTalk);
  proc.write("net/tcp6", std::string(kHead) + kListen6);
  proc.write("77/comm", "python3\n");
  std::filesystem::create_directories(proc.root() + "/77/fd");
  std::filesystem::create_symlink("/dev/null", proc.root() + "/77/fd/0");
  std::filesystem::create_symlink("socket:[4711]", proc.root() + "/77/fd/3");
  const auto listeners = read_listeners({{1000, {.name = "ada", .home = "/"}}}, proc.root());
  ASSERT_TRUE(listeners);
  ASSERT_EQ(listeners->list.size(), 2U);
  EXPECT_EQ(listeners->list[0].pid, 77);
  EXPECT_EQ(listeners->list[0].command, "python3");
  EXPECT_EQ(listeners->list[0].user, "ada");
  EXPECT_EQ(listeners->list[1].pid, 0);
  EXPECT_EQ(listeners->list[1].user, "0");
  EXPECT_EQ(listeners->list[1].command, "");
  EXPECT_EQ(listeners->not_seen, "");
}

TEST(Listeners, without_a_table_are_an_error) {
  FakeTree proc;
  EXPECT_FALSE(read_listeners({}, proc.root()));
}

TEST(Listeners, our_own_socket_is_ours) {
  const sys::Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(fd.get(), any, size), 0);
  ASSERT_EQ(::listen(fd.get(), 1), 0);
  ASSERT_EQ(::getsockname(fd.get(), any, &size), 0);
  const auto listeners = read_listeners({});
  ASSERT_TRUE(listeners);
  int owner = -1;
  for (const Listener& one : listeners->list) {
    if (one.port == ::ntohs(address.sin_port) && one.address == "127.0.0.1") owner = one.pid;
  }
  EXPECT_EQ(owner, ::getpid());
}

}  // namespace
}  // namespace muster::facts
