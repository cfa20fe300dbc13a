#include "inspect/connections.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::inspect {
namespace {

template <class T>
std::string bytes_in(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A message of the kernel's socket monitor about an IPv6 socket that holds an IPv4 address.
std::string monitor_message() {
  nlmsghdr header{};
  inet_diag_msg fixed{};
  tcp_info info{};
  const nlattr attribute{.nla_len = sizeof(nlattr) + sizeof(tcp_info), .nla_type = INET_DIAG_INFO};
  header.nlmsg_len = sizeof header + sizeof fixed + sizeof attribute + sizeof info;
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  fixed.idiag_family = AF_INET6;
  fixed.idiag_state = 2;
  fixed.id.idiag_sport = htons(29500);
  fixed.id.idiag_dport = htons(1234);
  fixed.id.idiag_src[2] = htonl(0xFFFF);
  fixed.id.idiag_src[3] = htonl(0xC6120001);  // 198.18.0.1
  fixed.id.idiag_dst[0] = htonl(0xFD000000);
  fixed.id.idiag_dst[3] = htonl(2);
  fixed.idiag_wqueue = 7;
  fixed.idiag_rqueue = 9;
  fixed.idiag_inode = 77;
  info.tcpi_retransmits = 3;
  info.tcpi_total_retrans = 12;
  info.tcpi_last_ack_recv = 1500;
  info.tcpi_rtt = 250;
  info.tcpi_busy_time = 900000;
  return bytes_in(header) + bytes_in(fixed) + bytes_in(attribute) + bytes_in(info);
}

TEST(SocketMonitor, TellsSockets) {
  SocketLooks looks;
  const auto is_done = take_sockets(monitor_message(), looks);
  ASSERT_TRUE(is_done);
  EXPECT_FALSE(*is_done);
  ASSERT_EQ(looks.size(), 1U);
  const SocketLook wanted{.inode = 77,
                          .connection = {.local = "198.18.0.1",
                                         .local_port = 29500,
                                         .peer = "fd00::2",
                                         .peer_port = 1234,
                                         .state = "syn-sent",
                                         .unsent = 7,
                                         .unread = 9,
                                         .retransmits = 3,
                                         .since_ack_s = 1.5,
                                         .round_trip_s = 0.00025},
                          .retransmitted = 12,
                          .busy_us = 900000};
  EXPECT_EQ(looks.at(77), wanted);
  EXPECT_FALSE(take_sockets(monitor_message().substr(0, 90), looks).value_or(true));
}

TEST(TcpTable, TellsSockets) {
  SocketLooks looks;
  take_tcp_table(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:9FA5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "73018 1 00000000561eae55 100 0 0 10 0\n"
      "   1: 010012C6:1F90 020012C6:0050 01 00000010:00000020 01:00000014 00000004     0        0 "
      "43901 1 000000001caa44ec 100 0 0 10 0\n"
      "   2: 0000000000000000FFFF0000010012C6:74AF 00000000000000000000000001000000:0001 08 "
      "00000000:00000000 00:00000000 00000000     0        0 5 1 000000001caa44ec 100 0 0 10 0\n"
      "   3: 0:0 0:0 01 0:0 0 0 0 0 5\n",
      looks);
  ASSERT_EQ(looks.size(), 3U);
  EXPECT_TRUE(looks.at(73018).listens);
  EXPECT_EQ(looks.at(73018).connection.local_port, 40869);
  const Connection wanted{.local = "198.18.0.1",
                          .local_port = 8080,
                          .peer = "198.18.0.2",
                          .peer_port = 80,
                          .state = "established",
                          .unsent = 16,
                          .unread = 32,
                          .retransmits = 4};
  EXPECT_EQ(looks.at(43901).connection, wanted);
  EXPECT_EQ(looks.at(5).connection.local, "198.18.0.1");
  EXPECT_EQ(looks.at(5).connection.peer, "::1");
  EXPECT_EQ(looks.at(5).connection.state, "close-wait");
}

SocketLook socket_look(std::uint64_t inode, Connection connection, std::int64_t retransmitted = 0,
                       std::int64_t busy_us = 0) {
  return {.inode = inode,
          .connection = std::move(connection),
          .retransmitted = retransmitted,
          .busy_us = busy_us};
}

TEST(Connections, AreWhatHappenedBetweenTwoLooks) {
  const Connection far{.local = "198.18.0.1", .peer = "198.18.0.2", .state = "established"};
  const Connection near{.local = "127.0.0.1", .peer = "127.0.0.1", .state = "established"};
  Connection full = near;
  full.unsent = 9;
  Connection closed = near;
  closed.state = "close-wait";
  const SocketLooks before = {{1, socket_look(1, far, 10, 1000000)}};
  SocketLooks after = {
      {1, socket_look(1, far, 14, 1500000)}, {2, socket_look(2, near)}, {3, socket_look(3, full)},
      {4, socket_look(4, closed)},           {5, socket_look(5, far)},  {6, socket_look(6, far)}};
  after.at(6).listens = true;
  const auto seen = compare_sockets({1, 2, 3, 4, 6, 7}, before, after, 1.0);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].local, "198.18.0.1");
  EXPECT_EQ(seen[0].retransmitted, 4);
  EXPECT_DOUBLE_EQ(seen[0].busy, 0.5);
  EXPECT_EQ(seen[1].state, "close-wait");
  EXPECT_EQ(seen[2].unsent, 9U);
}

TEST(Connections, KeepTheTellingOnes) {
  SocketLooks looks;
  std::set<std::uint64_t> inodes;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    Connection one{.local = "198.18.0.1", .peer = "198.18.0.2", .state = "established"};
    if (i == 399) one.unsent = 5;
    if (i == 400) one.state = "syn-sent";
    looks.emplace(i, socket_look(i, one));
    inodes.insert(i);
  }
  const auto seen = compare_sockets(inodes, looks, looks, 1.0);
  ASSERT_EQ(seen.size(), kMostConnections);
  EXPECT_EQ(seen[0].state, "syn-sent");
  EXPECT_EQ(seen[1].unsent, 5U);
}

TEST(Connections, OfThisProcessAreSeen) {
  auto address = sys::parse_socket_address("127.0.0.1", 0);
  ASSERT_TRUE(address);
  const sys::Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(server.get(), address->pointer(), address->length), 0);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  ASSERT_EQ(::getsockname(server.get(), address->pointer(), &address->length), 0);
  const sys::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), address->pointer(), address->length), 0);
  const sys::Fd accepted(::accept(server.get(), nullptr, nullptr));
  ASSERT_EQ(::write(client.get(), "hello", 5), 5);

  const pid_t self = ::getpid();
  const auto inodes = socket_inodes(std::span(&self, 1));
  EXPECT_GE(inodes.size(), 3U);
  const auto all = look_at_sockets();
  // A sandbox may forbid the socket monitor, but the table is always available.
  for (const SocketLooks& looks :
       {all ? *all : look_at_sockets_of(self), look_at_sockets_of(self)}) {
    const auto seen = compare_sockets(inodes, looks, looks, 1);
    const auto unread = std::ranges::find(seen, 5U, &Connection::unread);
    ASSERT_NE(unread, seen.end());
    EXPECT_EQ(unread->local_port, address->port());
    EXPECT_EQ(unread->local, "127.0.0.1");
    EXPECT_TRUE(std::ranges::any_of(looks, [&](const auto& one) {
      return one.second.listens && one.second.connection.local_port == address->port();
    }));
  }
}

}  // namespace
}  // namespace muster::inspect
