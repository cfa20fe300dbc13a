#include "facts/rdma.hpp"

#include <gtest/gtest.h>

#include "facts/peer_memory.hpp"
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

// As in /sys: DEVICE/device is a link to the folder of a PCI device, whose driver is a link too.
void add_pci_device(const FakeTree& tree, const std::string& device, const std::string& address,
                    const std::string& driver) {
  namespace fs = std::filesystem;
  fs::create_directories(tree.root() + "/pci/" + address);
  fs::create_directories(tree.root() + "/class/" + device);
  fs::create_symlink("../../../drivers/" + driver, tree.root() + "/pci/" + address + "/driver");
  fs::create_symlink("../../pci/" + address, tree.root() + "/class/" + device + "/device");
}

TEST(Rdma, what_the_card_behind_a_port_is) {
  FakeTree tree;
  add_pci_device(tree, "mlx5_3", "0000:5d:00.0", "mlx5_core");
  tree.write("pci/0000:5d:00.0/numa_node", "1\n");
  tree.write("pci/0000:5d:00.0/net/ens3np0/dev_port", "0\n");
  tree.write("pci/0000:5d:00.0/net/ens3np1/dev_port", "1\n");  // the interface of another port
  tree.write("class/mlx5_3/fw_ver", "28.39.1002\n");
  tree.write("class/mlx5_3/board_id", "MT_0000000838\n");
  const std::string port = "class/mlx5_3/ports/1/";
  tree.write(port + "state", "1: DOWN\n");
  tree.write(port + "phys_state", "2: Polling\n");
  tree.write(port + "gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  tree.write(port + "gid_attrs/ndevs/0", "bond0\n");
  const auto ports = read_rdma(tree.root() + "/class");
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].driver, "mlx5_core");
  EXPECT_EQ(ports[0].pci_address, "0000:5d:00.0");
  EXPECT_EQ(ports[0].numa_node, 1);
  EXPECT_EQ(ports[0].physical_state, "Polling");
  EXPECT_EQ(ports[0].interfaces, (std::vector<std::string>{"bond0", "ens3np0"}));
  EXPECT_EQ(ports[0].firmware, "28.39.1002");
  EXPECT_EQ(ports[0].board, "MT_0000000838");
}

TEST(Rdma, efa_by_its_driver) {
  FakeTree tree;
  add_pci_device(tree, "rdmap79s0", "0000:4f:00.0", "efa");
  tree.write("class/rdmap79s0/ports/1/state", "4: ACTIVE\n");
  tree.write("class/rdmap79s0/ports/1/link_layer", "Unknown\n");
  const auto ports = read_rdma(tree.root() + "/class");
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].driver, "efa");
  EXPECT_EQ(ports[0].link_layer, "Unknown");
  EXPECT_EQ(link_name(ports[0]), "EFA");
  EXPECT_TRUE(ports[0].active);
}

TEST(Rdma, of_software_has_no_card) {
  FakeTree tree;
  tree.write("rxe0/ports/1/state", "4: ACTIVE\n");
  const auto ports = read_rdma(tree.root());
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].pci_address, "");
  EXPECT_EQ(ports[0].driver, "");
  EXPECT_EQ(ports[0].numa_node, -1);
}

constexpr auto kOptions = "boot/config-6.8.0";
constexpr auto kGoodOptions = "# x\nCONFIG_DMA_SHARED_BUFFER=y\nCONFIG_PCI_P2PDMA=y\n";
constexpr auto kVersion = "proc/driver/nvidia/version";

TEST(PeerMemory, the_module_that_is_loaded) {
  FakeTree tree;
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).module, "");
  tree.write("sys/module/nvidia_peermem/version", "550.54\n");
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).module, "nvidia_peermem");
}

TEST(PeerMemory, dmabuf_needs_kernel_and_driver) {
  FakeTree tree;
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).dmabuf, std::nullopt);
  tree.write(kOptions, kGoodOptions);
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).dmabuf, std::nullopt);  // the driver is unknown
  tree.write(kVersion, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54\n");
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).dmabuf, true);
  EXPECT_EQ(read_peer_memory("6.9.0", tree.root()).dmabuf,
            std::nullopt);  // the driver's options are missing
  tree.write(kVersion, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54\n");
  EXPECT_EQ(read_peer_memory("6.9.0", tree.root()).dmabuf, false);
  tree.write(kVersion, "");
  tree.write("sys/module/amdgpu/version", "6.8\n");
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).dmabuf, true);
  tree.write(kOptions, "# CONFIG_PCI_P2PDMA is not set\nCONFIG_DMA_SHARED_BUFFER=y\n");
  EXPECT_EQ(read_peer_memory("6.8.0", tree.root()).dmabuf, false);
}

TEST(Rdma, none_where_there_is_no_folder) {
  EXPECT_TRUE(read_rdma("/no/such").empty());
}

}  // namespace
}  // namespace muster::facts
