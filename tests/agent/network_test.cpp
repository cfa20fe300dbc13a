#include "agent/network.hpp"

#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

bool inside(const std::string& subnet, const std::string& address) {
  const auto parsed = parse_subnet(subnet);
  if (!parsed) return false;
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  unsigned char bytes[16] = {};
  EXPECT_EQ(::inet_pton(family, address.c_str(), bytes), 1);
  return parsed->contains(family, bytes);
}

TEST(Subnet, Contains) {
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

TEST(Subnet, RefusesWhatIsNone) {
  for (const char* bad : {"", "/", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "x/8",
                          "10.0.0.0/", "fd00::/129", "10.0.0/8"}) {
    EXPECT_FALSE(parse_subnet(bad)) << bad;
  }
}

class Rdma : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "rdmaXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void gid(const std::string& device, int index, const std::string& gid, const std::string& type,
           const std::string& interface) {
    const auto port = folder_ / device / "ports/1";
    write(port / "gids", index, gid);
    write(port / "gid_attrs/types", index, type);
    write(port / "gid_attrs/ndevs", index, interface);
  }

  std::filesystem::path folder_;

 private:
  static void write(const std::filesystem::path& folder, int index, const std::string& text) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / std::to_string(index)) << text << "\n";
  }
};

TEST_F(Rdma, TakesTheIpv4EntryOfRoceV2) {
  gid("mlx5_0", 0, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", "eth1");
  gid("mlx5_0", 1, "0000:0000:0000:0000:0000:ffff:c612:000b", "RoCE v2", "eth0");
  gid("mlx5_1", 2, "0000:0000:0000:0000:0000:ffff:c612:000b", "IB/RoCE v1", "eth1");
  gid("mlx5_1", 3, "0000:0000:0000:0000:0000:ffff:c612:000b", "RoCE v2", "eth1");
  const auto found = find_rdma(folder_, "eth1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->port, "mlx5_1:1");
  EXPECT_EQ(found->gid_index, 3);
  EXPECT_FALSE(find_rdma(folder_, "eth2"));
  EXPECT_FALSE(find_rdma(folder_ / "nothing", "eth1"));
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

TEST(NetworkVariables, FindTheInterfaceOfTheSubnet) {
  const auto found = network_variables("127.0.0.0/8", false);
  ASSERT_TRUE(found) << to_text(found.error());
  EXPECT_EQ(found->at("GLOO_SOCKET_IFNAME"), "lo");
  EXPECT_FALSE(network_variables("203.0.113.0/24", false));
}

}  // namespace
}  // namespace muster::agent
