#include "facts/rdma.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

constexpr auto kGid = "0000:0000:0000:0000:0000:ffff:c612:000b";
constexpr auto kNone = "0000:0000:0000:0000:0000:0000:0000:0000";

TEST(Rdma, ports_with_the_gids_in_use) {
  FakeTree tree;
  const std::string port = "mlx5_0/ports/1/";
  tree.write(port + "state", "4: ACTIVE\n");
  tree.write(port + "link_layer", "Ethernet\n");
  tree.write(port + "rate", "100 Gb/sec (4X EDR)\n");
  for (const auto& [index, gid] : {std::pair{"0", kNone}, {"2", kGid}, {"10", kGid}}) {
    tree.write(port + "gids/" + index, std::string(gid) + "\n");
  }
  tree.write(port + "gid_attrs/types/2", "IB/RoCE v1\n");
  tree.write(port + "gid_attrs/types/10", "RoCE v2\n");
  tree.write(port + "gid_attrs/ndevs/10", "eth0\n");
  std::filesystem::create_directories(tree.root() + "/" + port + "gids/1");  // cannot be read
  tree.write("mlx5_1/ports/1/state", "1: DOWN\n");
  const auto ports = read_rdma(tree.root());
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_TRUE(ports[0].active);
  EXPECT_EQ(ports[0].device, "mlx5_0");
  EXPECT_EQ(ports[0].rate, "100 Gb/sec (4X EDR)");
  ASSERT_EQ(ports[0].gids.size(), 2U);
  EXPECT_EQ(ports[0].gids[0].index, 2);
  EXPECT_EQ(ports[0].gids[1].index, 10);
  EXPECT_EQ(ports[0].gids[1].gid, kGid);
  EXPECT_EQ(ports[0].gids[1].type, "RoCE v2");
  EXPECT_EQ(ports[0].gids[1].interface, "eth0");
  EXPECT_FALSE(ports[1].active);
}

TEST(Rdma, none_where_there_is_no_folder) {
  EXPECT_TRUE(read_rdma("/no/such").empty());
}

}  // namespace
}  // namespace muster::facts
