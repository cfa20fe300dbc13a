#include "setup/mesh.hpp"

#include <set>

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

using Addresses = std::vector<std::vector<std::string>>;

TEST(CheckMesh, RefusesHostsWithDifferentUsersOrPorts) {
  EXPECT_TRUE(check_mesh(std::vector<Entry>{{"n1", "dev", 22, "/a"}, {"n2", "dev", 22, "/b"}}));
  for (const Entry& other : {Entry{"n2", "ops", 22}, Entry{"n2", "dev", 2222}, Entry{"n2"}}) {
    const auto checked = check_mesh(std::vector<Entry>{{"n1", "dev", 22}, other});
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
    EXPECT_NE(checked.error().what.find("n2 with user"), std::string::npos);
  }
}

TEST(PlainKey, IsAKeyAndNothingMore) {
  const std::string key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + std::string(43, 'x');
  EXPECT_EQ(plain_key(key), key);
  EXPECT_EQ(plain_key(key + " root@evil"), key);
  EXPECT_FALSE(plain_key(""));
  EXPECT_FALSE(plain_key(key + "xx"));
  EXPECT_FALSE(plain_key("command=\"sh\" " + key));
  EXPECT_FALSE(plain_key("ssh-ed25519 " + std::string(67, 'A') + "\""));
}

TEST(PlausibleAddresses, AreAddressesAndNotTooMany) {
  const std::vector<std::string> claimed = {
      "198.18.0.1", "x\" command=\"evil", "1.2.3", "10.0.0.0/8", "*", "fd00::1"};
  EXPECT_EQ(plausible_addresses(claimed), (std::vector<std::string>{"198.18.0.1", "fd00::1"}));
  EXPECT_EQ(plausible_addresses(std::vector<std::string>(1000, "::1")).size(), 16U);
}

TEST(OwnAddresses, LeaveOutWhatSeveralHostsHave) {
  const Addresses confirmed = {{"198.18.0.1", "172.17.0.1", "fd00::1"},
                               {"198.18.0.2", "172.17.0.1"}};
  EXPECT_EQ(own_addresses(confirmed), (Addresses{{"198.18.0.1", "fd00::1"}, {"198.18.0.2"}}));
}

TEST(PinsFor, GiveThePinnedKeyToEveryNameOfTheHost) {
  const std::vector<std::string> names = {"n1", "198.18.0.1"};
  EXPECT_EQ(pins_for("n1 ssh-ed25519 AAAAC3\n", names),
            "n1 n1 ssh-ed25519 AAAAC3\n198.18.0.1 198.18.0.1 ssh-ed25519 AAAAC3\n");
  EXPECT_EQ(pins_for("[n1]:2222 ssh-ed25519 AAAAC3\n", names),
            "n1 [n1]:2222 ssh-ed25519 AAAAC3\n198.18.0.1 [198.18.0.1]:2222 ssh-ed25519 AAAAC3\n");
  EXPECT_EQ(pins_for("", names), "");
  EXPECT_EQ(pins_for("n1 ssh-ed25519 garbage\n", names), "");
}

TEST(MeshRounds, CoverEveryPairBothWaysUpTo64Hosts) {
  for (const std::size_t hosts : {2U, 3U, 64U}) {
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (const std::size_t apart : mesh_rounds(hosts)) {
      for (std::size_t i = 0; i < hosts; ++i) pairs.emplace(i, (i + apart) % hosts);
    }
    EXPECT_EQ(pairs.size(), hosts * (hosts - 1));
  }
  EXPECT_TRUE(mesh_rounds(1).empty());
}

TEST(MeshRounds, AreASampleAbove) {
  EXPECT_EQ(mesh_rounds(65), (std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(mesh_rounds(10000).size(), 14U);
}

}  // namespace
}  // namespace muster::setup
