#include "facts/interfaces.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>

namespace muster::facts {
namespace {

constexpr auto kPort = InterfaceKind::kPort;
constexpr auto kVirtual = InterfaceKind::kVirtual;
constexpr auto kTunnel = InterfaceKind::kTunnel;

Link link(int index, const std::string& made, int master = 0, int hardware = ARPHRD_ETHER) {
  return {.index = index,
          .name = "l",
          .flags = 0,
          .hardware = hardware,
          .made = made,
          .master = master};
}

TEST(Kinds, of_one_alone) {
  const struct {
    Link link;
    InterfaceKind kind;
  } cases[] = {{link(1, ""), kPort},
               {link(1, "veth"), kPort},
               {link(1, "vlan"), kPort},
               {link(1, "bond"), kPort},
               {link(1, "macvlan"), kPort},
               {link(1, "bridge"), kVirtual},
               {link(1, "dummy"), kVirtual},
               {link(1, "ifb"), kVirtual},
               {link(1, "tun"), kVirtual},  // a tap device, which has Ethernet frames
               {link(1, "tun", 0, ARPHRD_NONE), kTunnel},
               {link(1, "wireguard", 0, ARPHRD_NONE), kTunnel},
               {link(1, "ipip", 0, ARPHRD_TUNNEL), kTunnel},
               {link(1, "gretap"), kTunnel},
               {link(1, "vxlan"), kTunnel},
               {link(1, "", 0, ARPHRD_INFINIBAND), InterfaceKind::kInfiniband},
               {link(1, "ipoib", 0, ARPHRD_INFINIBAND), InterfaceKind::kInfiniband}};
  for (const auto& one : cases) EXPECT_EQ(kinds_of({one.link}).at(0), one.kind) << one.link.made;
  Link loopback = link(1, "", 0, ARPHRD_LOOPBACK);
  loopback.flags = 8;  // IFF_LOOPBACK
  EXPECT_EQ(kinds_of({loopback}).at(0), InterfaceKind::kLoopback);
}

TEST(Kinds, a_bridge_over_a_card_is_a_port) {
  EXPECT_EQ(kinds_of({link(1, "bridge"), link(2, "", 1)}), (std::vector{kPort, kPort}));
  EXPECT_EQ(kinds_of({link(1, "bridge"), link(2, "bond", 1)}).at(0), kPort);
}

TEST(Kinds, a_bridge_for_containers_is_not) {
  EXPECT_EQ(kinds_of({link(1, "bridge"), link(2, "veth", 1)}), (std::vector{kVirtual, kVirtual}));
  EXPECT_EQ(kinds_of({link(1, "bridge"), link(2, "tun", 1)}).at(0), kVirtual);
  EXPECT_EQ(kinds_of({link(1, "bridge"), link(2, ""), link(3, "bridge")}).at(0), kVirtual);
}

TEST(Interfaces, of_this_machine_have_a_loopback) {
  const auto interfaces = read_interfaces();
  ASSERT_TRUE(interfaces) << to_text(interfaces.error());
  bool has_loopback = false;
  for (const Interface& one : *interfaces) {
    EXPECT_FALSE(one.name.empty());
    EXPECT_GT(one.mtu, 0);
    has_loopback |= one.kind == InterfaceKind::kLoopback;
  }
  EXPECT_TRUE(has_loopback);
  EXPECT_TRUE(read_routes());
}

TEST(Caveats, of_ipv6_addresses) {
  EXPECT_EQ(caveat_of(IFA_F_PERMANENT), "");
  EXPECT_EQ(caveat_of(IFA_F_TEMPORARY | IFA_F_MANAGETEMPADDR), "temporary");
  EXPECT_EQ(caveat_of(IFA_F_TEMPORARY | IFA_F_DEPRECATED), "deprecated");
  EXPECT_EQ(caveat_of(IFA_F_TENTATIVE), "tentative");
  EXPECT_EQ(caveat_of(IFA_F_TENTATIVE | IFA_F_OPTIMISTIC), "");
  EXPECT_EQ(caveat_of(IFA_F_TENTATIVE | IFA_F_DADFAILED), "duplicate");
}

}  // namespace
}  // namespace muster::facts
