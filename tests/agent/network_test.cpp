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
  const auto tcp = network_variables("eth1", std::nullopt);
  EXPECT_EQ(tcp.at("GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_EQ(tcp.at("NCCL_SOCKET_IFNAME"), "=eth1");
  EXPECT_EQ(tcp.at("UCX_NET_DEVICES"), "eth1");
  EXPECT_FALSE(tcp.contains("NCCL_IB_HCA"));
  const auto rdma = network_variables("eth1", RdmaDevice{.port = "mlx5_1:1", .gid_index = 3});
  EXPECT_EQ(rdma.at("NCCL_IB_HCA"), "=mlx5_1:1");
  EXPECT_EQ(rdma.at("NCCL_IB_GID_INDEX"), "3");
  EXPECT_FALSE(rdma.contains("UCX_NET_DEVICES"));
}

TEST(InterfaceIn, NeverTakesLoopback) {
  EXPECT_FALSE(interface_in("127.0.0.0/8"));
  EXPECT_FALSE(interface_in("203.0.113.0/24"));
  EXPECT_FALSE(interface_in("nonsense"));
}

TEST(NetworkVariables, NameNoRdmaDeviceWhereThereAreSeveral) {
  const auto several =
      network_variables("eth1", RdmaDevice{.port = "mlx5_1:1", .gid_index = 3, .is_only = false});
  EXPECT_FALSE(several.contains("NCCL_IB_HCA"));
  EXPECT_FALSE(several.contains("NCCL_IB_GID_INDEX"));
  EXPECT_FALSE(several.contains("UCX_NET_DEVICES"));
}

TEST(NetworkVariables, NativeInfinibandNeedsNoGidIndex) {
  const auto native = network_variables("ib0", RdmaDevice{.port = "mlx5_0:1"});
  EXPECT_EQ(native.at("NCCL_IB_HCA"), "=mlx5_0:1");
  EXPECT_FALSE(native.contains("NCCL_IB_GID_INDEX"));
  EXPECT_FALSE(native.contains("UCX_NET_DEVICES"));
}

TEST(NetworkVariables, OfAnIpv6NetworkNameTheFamily) {
  const auto ipv6 = ipv6_variables("eth1");
  EXPECT_EQ(ipv6.at("NCCL_SOCKET_FAMILY"), "AF_INET6");
  EXPECT_EQ(ipv6.at("OMPI_MCA_btl_tcp_if_include"), "eth1");
}

TEST(Assignment, IsReadBackAndHostileTextIsNot) {
  const Assignment placement{.interface = "ens5",
                             .rdma = "mlx5_0:1",
                             .gid_index = 3,
                             .several_rdma_ports = true,
                             .host_rank = 1,
                             .host_count = 2};
  EXPECT_EQ(parse_placement(to_json(placement)), placement);
  for (const char* text : {"", "{}", "[]", "{\"interface\":3}"})
    EXPECT_FALSE(parse_placement(text));
}

}  // namespace
}  // namespace muster::agent
