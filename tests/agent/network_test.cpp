#include "agent/network.hpp"

#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "agent/assignment.hpp"

namespace muster::agent {
namespace {

bool inside(const std::string& subnet, const std::string& address) {
  const auto parsed = parse_range(subnet);
  if (!parsed) return false;
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  unsigned char bytes[16] = {};
  EXPECT_EQ(::inet_pton(family, address.c_str(), bytes), 1);
  return parsed->contains(family, bytes);
}

TEST(AddressRange, Contains) {
  EXPECT_TRUE(inside("198.18.0.0/16", "198.18.255.1"));
  EXPECT_FALSE(inside("198.18.0.0/16", "198.19.0.1"));
  EXPECT_TRUE(inside("198.18.0.0/15", "198.19.0.1"));
  EXPECT_TRUE(inside("10.0.0.129/25", "10.0.0.200"));
  EXPECT_FALSE(inside("10.0.0.129/25", "10.0.0.100"));
  EXPECT_TRUE(inside("0.0.0.0/0", "10.0.0.1"));
  EXPECT_TRUE(inside("10.0.0.1/32", "10.0.0.1"));
  EXPECT_FALSE(inside("10.0.0.1/32", "10.0.0.0"));
  EXPECT_TRUE(inside("fd00:1::/32", "fd00:1:ffff::2"));
  EXPECT_FALSE(inside("fd00:1::/32", "fd00:2::2"));
  EXPECT_FALSE(inside("0.0.0.0/0", "fd00::1"));
}

TEST(AddressRange, RefusesWhatIsNone) {
  for (const char* bad : {"", "/", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "x/8",
                          "10.0.0.0/", "fd00::/129", "10.0.0/8"}) {
    EXPECT_FALSE(parse_range(bad)) << bad;
  }
}

TEST(NetworkVariables, NameTheInterfaceInEveryLayersWords) {
  const auto tcp = network_variables("eth1");
  EXPECT_EQ(tcp.at("GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_EQ(tcp.at("NCCL_SOCKET_IFNAME"), "=eth1");
  EXPECT_EQ(tcp.at("UCX_NET_DEVICES"), "eth1");
  EXPECT_FALSE(tcp.contains("NCCL_IB_HCA"));
}

TEST(NetworkVariables, HoldWhatWasDecidedAboutTheRails) {
  const auto all = network_variables(
      "eth1", {{"NCCL_IB_GID_INDEX", "3"}, {"UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1,eth1"}});
  EXPECT_EQ(all.at("NCCL_SOCKET_IFNAME"), "=eth1");
  EXPECT_EQ(all.at("NCCL_IB_GID_INDEX"), "3");
  EXPECT_EQ(all.at("UCX_NET_DEVICES"), "mlx5_0:1,mlx5_1:1,eth1");
}

TEST(NetworkVariables, LeaveTheChoiceOfGidsToTheUser) {
  using Variables = std::map<std::string, std::string>;
  const Variables all = {{"NCCL_IB_ADDR_FAMILY", "AF_INET"},
                         {"NCCL_IB_ADDR_RANGE", "10.0.0.0/24"},
                         {"NCCL_IB_GID_INDEX", "3"}};
  for (const char* choice : {"NCCL_IB_HCA", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY"}) {
    Variables variables = all;
    leave_gids_to_user({{choice, "x"}}, variables);
    EXPECT_EQ(variables, (Variables{{"NCCL_IB_ADDR_FAMILY", "AF_INET"}})) << choice;
  }
  Variables variables = all;
  leave_gids_to_user({{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_GID_INDEX", "1"}}, variables);
  EXPECT_EQ(variables, all);
}

TEST(InterfaceIn, NeverTakesLoopback) {
  EXPECT_FALSE(interface_in("127.0.0.0/8"));
  EXPECT_FALSE(interface_in("203.0.113.0/24"));
  EXPECT_FALSE(interface_in("nonsense"));
}

TEST(NetworkVariables, OfAnIpv6NetworkNameTheFamily) {
  const auto ipv6 = ipv6_variables("eth1");
  EXPECT_EQ(ipv6.at("NCCL_SOCKET_FAMILY"), "AF_INET6");
  EXPECT_EQ(ipv6.at("OMPI_MCA_btl_tcp_if_include"), "eth1");
}

TEST(Assignment, IsReadBackAndHostileTextIsNot) {
  const Assignment placement{.interface = "ens5",
                             .variables = {{"NCCL_IB_GID_INDEX", "3"}},
                             .host_rank = 1,
                             .host_count = 2};
  EXPECT_EQ(parse_placement(to_json(placement)), placement);
  for (const char* text : {"", "{}", "[]", "{\"interface\":3}"})
    EXPECT_FALSE(parse_placement(text));
}

}  // namespace
}  // namespace muster::agent
