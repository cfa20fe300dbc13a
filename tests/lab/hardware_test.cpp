#include "lab/hardware.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lab/damage.hpp"
#include "lab/hardware_tree.hpp"

namespace muster::lab {
namespace {

Hardware on_host(const std::string& profile, int host) {
  auto hardware = load_profile(profile);
  EXPECT_TRUE(hardware) << hardware.error().what;
  if (!hardware) return {};
  make_own(*hardware, host);
  return *std::move(hardware);
}

Hardware with_damage(const std::string& profile, std::string_view name,
                     const std::string& argument) {
  Hardware hardware = on_host(profile, 1);
  const Damage* damage = find_damage(name);
  EXPECT_NE(damage, nullptr) << name;
  const auto applied = damage->apply(hardware, argument);
  EXPECT_TRUE(applied) << name << ": " << applied.error().what;
  return hardware;
}

// Returns the content of a file. Follows the tree's links, as a program does that opens the file.
std::string content(const Tree& tree, std::string path) {
  for (const auto& [link, entry] : tree) {
    if (entry.is_link && path.starts_with(link + "/")) {
      const auto target = std::filesystem::path(link).parent_path() / entry.content;
      return content(tree, target.lexically_normal().string() + path.substr(link.size()));
    }
  }
  const auto found = tree.find(path);
  return found == tree.end() ? "(no such file)" : found->second.content;
}

TEST(Profiles, AreThoseThatTheGuideNames) {
  EXPECT_EQ(profile_names(), (std::vector<std::string>{"aws-p5", "dgx-h100", "dgx-spark",
                                                       "hgx-roce", "mi300x-roce", "pod-macvlan"}));
  const auto unknown = load_profile("dgx-z1");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().hint.find("dgx-h100"), std::string::npos);
}

TEST(Profiles, AllParseAndNameTheirSources) {
  for (const std::string& name : profile_names()) {
    const Hardware hardware = on_host(name, 1);
    EXPECT_FALSE(hardware.about.empty()) << name;
    EXPECT_GE(hardware.sources.size(), 3U) << name;
    const auto links =
        std::count_if(hardware.sources.begin(), hardware.sources.end(),
                      [](const std::string& source) { return source.starts_with("https://"); });
    EXPECT_GE(links, 1) << name;
    EXPECT_FALSE(hardware.gpus.empty()) << name;
    EXPECT_FALSE(hardware.rdma.empty()) << name;
  }
}

TEST(Profiles, ABadOneIsAnErrorAndNoCrash) {
  for (const char* yaml :
       {"", "[", "about: x", "about: x\nmanagement: {interface: e}\nrdma: {devices: [{name: a}]}",
        "about: x\nmanagement: {interface: e}\nrdma: {devices: [{name: a, pci: \"0000:01:00.0\", "
        "vendor: v, "
        "device: d, class: c, link_layer: l, rate: r, gids: [\"x\"]}]}"}) {
    EXPECT_FALSE(parse_profile("bad", yaml)) << yaml;
  }
}

TEST(Profiles, NamesAndPciAddressesAreUniqueAndFit) {
  for (const std::string& name : profile_names()) {
    const Hardware hardware = on_host(name, 250);
    std::set<std::string> addresses, interfaces = {hardware.management}, devices;
    for (const Gpu& gpu : hardware.gpus) EXPECT_TRUE(addresses.insert(gpu.pci.address).second);
    for (const PciDevice& other : hardware.others) {
      EXPECT_TRUE(addresses.insert(other.address).second) << name;
    }
    for (const RdmaDevice& device : hardware.rdma) {
      EXPECT_TRUE(addresses.insert(device.pci.address).second) << name << device.name;
      EXPECT_TRUE(devices.insert(device.name).second) << name << device.name;
      for (const std::string& bridge : device.pci.bridges) EXPECT_EQ(bridge.size(), 12U) << bridge;
    }
    for (const RailInterface& rail : rail_interfaces(hardware)) {
      EXPECT_TRUE(interfaces.insert(rail.interface).second) << name << rail.interface;
      EXPECT_LE(rail.interface.size(), 15U) << rail.interface;
      if (!rail.address.empty()) {
        EXPECT_TRUE(rail.address.starts_with("198.19.")) << rail.address;
      }
    }
  }
}

// Returns the card below the same PCIe switch as the GPU.
std::string nearest_card(const Hardware& hardware, const Gpu& gpu) {
  for (const RdmaDevice& device : hardware.rdma) {
    if (device.pci.bridges.front() == gpu.pci.bridges.front()) return device.name;
  }
  return "";
}

TEST(Profiles, EachGpuOfADgxH100HasItsRail) {
  const Hardware hardware = on_host("dgx-h100", 1);
  std::vector<std::string> nearest;
  for (const Gpu& gpu : hardware.gpus) nearest.push_back(nearest_card(hardware, gpu));
  EXPECT_EQ(nearest, (std::vector<std::string>{"mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6",
                                               "mlx5_9", "mlx5_10", "mlx5_11"}));
  const Tree tree = hardware_tree(hardware, 8);
  const std::string card = "/sys/class/infiniband/mlx5_6/";
  EXPECT_EQ(content(tree, card + "ports/1/state"), "4: ACTIVE\n");
  EXPECT_EQ(content(tree, card + "ports/1/link_layer"), "InfiniBand\n");
  EXPECT_EQ(content(tree, card + "device/numa_node"), "1\n");
  EXPECT_EQ(content(tree, card + "device/local_cpulist"), "4-7\n");
  EXPECT_EQ(content(tree, "/sys/bus/pci/devices/0000:1b:00.0/vendor"), "0x10de\n");
  EXPECT_EQ(content(tree, "/sys/module/nvidia/version"), "550.90.07\n");
}

TEST(Profiles, GidsAreTheAddressesOfTheInterfaces) {
  const Hardware hardware = on_host("hgx-roce", 3);
  const Tree tree = hardware_tree(hardware, 2);
  const std::string port = "/sys/class/infiniband/mlx5_1/ports/1/";
  EXPECT_EQ(rail_interfaces(hardware)[1].address, "198.19.129.3");
  EXPECT_EQ(content(tree, port + "gids/3"), "0000:0000:0000:0000:0000:ffff:c613:8103\n");
  EXPECT_EQ(content(tree, port + "gid_attrs/types/3"), "RoCE v2\n");
  EXPECT_EQ(content(tree, port + "gid_attrs/ndevs/3"), "enp64s0np0\n");
  EXPECT_EQ(content(tree, port + "gids/4"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  // The front-end card shows the address of the first network.
  EXPECT_EQ(content(tree, "/sys/class/infiniband/mlx5_4/ports/1/gids/3"),
            "0000:0000:0000:0000:0000:ffff:c612:0103\n");
}

int index_of_ipv4_v2(const Hardware& hardware, std::size_t card) {
  for (const Gid& gid : hardware.rdma[card].gids) {
    if (gid.ipv4 && gid.v2) return gid.index;
  }
  return -1;
}

TEST(Profiles, GidIndicesDifferWhereTheyDoInReality) {
  EXPECT_EQ(index_of_ipv4_v2(on_host("dgx-spark", 1), 0), 4);
  EXPECT_EQ(index_of_ipv4_v2(on_host("dgx-spark", 2), 0), 3);
  EXPECT_EQ(index_of_ipv4_v2(on_host("dgx-spark", 2), 2), 5);
  EXPECT_EQ(index_of_ipv4_v2(on_host("pod-macvlan", 1), 0), 9);
  EXPECT_EQ(index_of_ipv4_v2(on_host("pod-macvlan", 2), 0), 13);
}

TEST(Profiles, EfaIsNeitherInfiniBandNorEthernet) {
  const Hardware hardware = on_host("aws-p5", 1);
  EXPECT_EQ(hardware.rdma.size(), 32U);
  const Tree tree = hardware_tree(hardware, 2);
  const std::string card = "/sys/class/infiniband/rdmap79s0/";
  EXPECT_EQ(content(tree, card + "ports/1/link_layer"), "Unknown\n");
  EXPECT_EQ(content(tree, card + "device/vendor"), "0x1d0f\n");
  EXPECT_TRUE(tree.at("/sys/devices/" + pci_path(hardware.rdma[0].pci) + "/driver")
                  .content.ends_with("/drivers/efa"));
  EXPECT_TRUE(rail_interfaces(hardware).empty());
}

TEST(Profiles, HostsAreNotEachOther) {
  for (const std::string& name : profile_names()) {
    const Hardware one = on_host(name, 1), two = on_host(name, 2);
    EXPECT_NE(one.gpus[0].uuid, two.gpus[0].uuid);
    EXPECT_NE(one.rdma[0].guid, two.rdma[0].guid);
    EXPECT_NE(one.rdma[0].mac, two.rdma[0].mac);
  }
}

TEST(CpuList, DealsTheCpusOut) {
  EXPECT_EQ(cpu_list(0, 2, 2), "0");
  EXPECT_EQ(cpu_list(1, 2, 2), "1");
  EXPECT_EQ(cpu_list(1, 2, 64), "32-63");
  EXPECT_EQ(cpu_list(0, 1, 3), "0-2");
  EXPECT_EQ(cpu_list(1, 2, 1), "");
}

TEST(Damages, AreManyAndEachChangesWhatAHostShows) {
  EXPECT_GE(damages().size(), 20U);
  const Hardware healthy = on_host("hgx-roce", 1);
  const Tree before = hardware_tree(healthy, 2);
  for (const Damage& damage : damages()) {
    const std::string argument = damage.argument.empty()        ? ""
                                 : damage.argument == "VERSION" ? "535.1"
                                                                : "0";
    const Hardware hardware = with_damage("hgx-roce", damage.name, argument);
    const bool other_files = hardware_tree(hardware, 2) != before;
    const bool other_interface = hardware.rdma[0].mtu != healthy.rdma[0].mtu;
    EXPECT_TRUE(other_files || other_interface) << damage.name;
  }
}

TEST(Damages, SayWhatIsWrongWithTheirArgument) {
  Hardware hardware = on_host("dgx-spark", 1);
  for (const auto& [name, argument] :
       {std::pair("rail", "9"), std::pair("rail", "mlx5_0"), std::pair("gpu-ecc", "1"),
        std::pair("gpu-ecc", "x"), std::pair("gpu-driver", "new"),
        std::pair("no-fabric-manager", "")}) {
    const auto refused = find_damage(name)->apply(hardware, argument);
    ASSERT_FALSE(refused) << name << argument;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  }
  EXPECT_EQ(find_damage("nothing"), nullptr);
}

TEST(Damages, RailsAreCountedWithoutStorageAndFoundByName) {
  EXPECT_EQ(with_damage("dgx-h100", "rail", "3").rdma[5].state, "1: DOWN");  // mlx5_5
  EXPECT_EQ(with_damage("dgx-h100", "rail", "mlx5_2").rdma[2].state, "1: DOWN");
}

TEST(Damages, AreToldByTheRightFiles) {
  const auto shown = [](std::string_view damage, const char* argument, const std::string& path) {
    return content(hardware_tree(with_damage("hgx-roce", damage, argument), 2), path);
  };
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  const std::string gpu = "/sys/bus/pci/devices/0000:1b:00.0/";
  EXPECT_EQ(shown("rail", "0", port + "state"), "1: DOWN\n");
  EXPECT_EQ(shown("rail-slow", "0", port + "rate"), "100 Gb/sec (4X EDR)\n");
  EXPECT_EQ(shown("rail-no-gid", "0", port + "gids/3"),
            "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(shown("rail-gid-moved", "0", port + "gid_attrs/types/5"), "RoCE v2\n");
  EXPECT_EQ(shown("rail-gone", "0", port + "state"), "(no such file)");
  EXPECT_EQ(shown("rail-errors", "0", port + "counters/symbol_error"), "48213\n");
  EXPECT_EQ(shown("rail-pcie", "0", "/sys/bus/pci/devices/0000:18:00.0/current_link_width"), "8\n");
  EXPECT_EQ(shown("gpu-pcie", "0", gpu + "current_link_width"), "8\n");
  EXPECT_EQ(shown("gpu-lost", "0", gpu + "current_link_width"), "63\n");
  EXPECT_EQ(shown("no-peer-memory", "", "/sys/module/nvidia_peermem/initstate"), "(no such file)");
  EXPECT_NE(shown("gpu-driver", "535.1", "/proc/driver/nvidia/version").find("  535.1  "),
            std::string::npos);
  EXPECT_NE(shown("gpu-lost", "0", "/var/log/kern.log").find("Xid (PCI:0000:1b:00): 79"),
            std::string::npos);
}

class TreeOnDisk : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream file(folder_ + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_ = testing::TempDir() + "treeXXXXXX";
};

TEST_F(TreeOnDisk, BecomesWhatIsWantedAndLeavesTheRestAlone) {
  const Tree one = {{"/a/b/kept", {.content = "1\n"}},
                    {"/a/b/gone", {.content = "2\n"}},
                    {"/c/link", {.content = "../a/b", .is_link = true}},
                    {"/d/only", {.content = "x"}}};
  ASSERT_TRUE(write_tree(folder_, {}, one));
  EXPECT_EQ(read("/c/link/kept"), "1\n");
  std::ofstream(folder_ + "/a/foreign") << "stays";
  Tree two = one;
  two["/a/b/kept"].content = "3\n";
  two["/c/link"].content = "../a";
  two.erase("/a/b/gone");
  two.erase("/d/only");
  ASSERT_TRUE(write_tree(folder_, one, two));
  EXPECT_EQ(read("/a/b/kept"), "3\n");
  EXPECT_EQ(read("/c/link/foreign"), "stays");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a/b/gone"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/d"));
  ASSERT_TRUE(write_tree(folder_, two, one));
  EXPECT_EQ(read("/a/b/gone"), "2\n");
}

}  // namespace
}  // namespace muster::lab
