#include "lab/spec.hpp"

#include <set>

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

TEST(Spec, NumbersAndNamesAgree) {
  const Spec spec{.hosts = 12};
  EXPECT_EQ(host_name(0), "launcher");
  EXPECT_EQ(host_name(12), "n12");
  EXPECT_EQ(host_number(spec, "n12").value(), 12);
  EXPECT_EQ(host_number(spec, "launcher").value(), 0);
  for (const char* wrong : {"n13", "n0", "n01", "n", "n-1", "x1", "", "n1x"}) {
    EXPECT_FALSE(host_number(spec, wrong).has_value()) << wrong;
  }
}

TEST(Spec, EveryHostHasItsOwnAddressAndMacInsideTheTestRange) {
  std::set<std::string> seen;
  for (int host = 0; host <= kMaxHosts; ++host) {
    for (int nic = 0; nic < 2; ++nic) {
      EXPECT_EQ(address(host, nic).rfind(nic == 0 ? "198.18." : "198.19.", 0), 0U);
      EXPECT_TRUE(seen.insert(address(host, nic)).second) << address(host, nic);
      EXPECT_TRUE(seen.insert(mac(host, nic)).second) << mac(host, nic);
      EXPECT_LE(port_name(host, nic).size(), 15U);
    }
  }
  EXPECT_EQ(seen.count(std::string(kDockerAddress)), 0U);
  EXPECT_EQ(address(kMaxHosts, 1), "198.19.17.96");  // well inside 198.19.0.0/17
}

TEST(Spec, HostsHaveAddressesOfTheFamiliesAskedFor) {
  const auto texts = [](const char* ip, int host) {
    std::string text;
    for (const HostAddress& one : addresses(Spec{.hosts = 2, .ip = ip}, host, 0)) {
      text += one.ip + "/" + std::to_string(one.prefix_length) + " ";
    }
    return text;
  };
  EXPECT_EQ(texts("4", 2), "198.18.1.2/16 ");
  EXPECT_EQ(texts("6", 2), "fd00:198:18::1:2/64 ");
  EXPECT_EQ(texts("both", 0), "198.18.0.1/16 fd00:198:18::1/64 ");
  EXPECT_FALSE(validate(Spec{.hosts = 1, .ip = "5"}).has_value());
  std::set<std::string> seen;
  for (int host = 0; host <= kMaxHosts; ++host)
    EXPECT_TRUE(seen.insert(ipv6_address(host, 1)).second);
}

TEST(Spec, DealsInterfaceNamesOutInTurn) {
  const Spec spec{.hosts = 3, .nics = 2, .nic_names = {"eth0", "ens5", "eno1"}};
  EXPECT_EQ(nic_name(spec, 1, 0), "ens5");
  EXPECT_EQ(nic_name(spec, 1, 1), "ens6");
  EXPECT_EQ(nic_name(spec, 2, 1), "eno2");
  EXPECT_EQ(nic_name(spec, 3, 1), "eth1");
}

TEST(Spec, SurvivesItsJsonForm) {
  const Spec spec{.name = "two",
                  .hosts = 2,
                  .nics = 2,
                  .nic_names = {"a0"},
                  .root = "/bare",
                  .user = "me",
                  .uid = 1234,
                  .password = "p",
                  .shares = {"/data"},
                  .launcher_lacks = {"/opt/torch"}};
  const auto again = from_json(to_json(spec));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again), to_json(spec));
  EXPECT_FALSE(from_json("{}").has_value());
  EXPECT_FALSE(from_json("[").has_value());
}

TEST(Spec, RefusesWhatWouldLeaveItsFolder) {
  for (const char* name : {"../x", "", "a/b", "A", "-x", "a b"}) {
    EXPECT_FALSE(validate(Spec{.name = name, .hosts = 1}).has_value()) << name;
  }
  EXPECT_FALSE(validate(Spec{.hosts = 0}).has_value());
  EXPECT_FALSE(validate(Spec{.hosts = 1, .user = "root"}).has_value());
  EXPECT_FALSE(validate(Spec{.hosts = 1, .shares = {"relative"}}).has_value());
  EXPECT_FALSE(validate(Spec{.hosts = 1, .nic_names = {"lo"}}).has_value());
  EXPECT_FALSE(validate(Spec{.hosts = 1, .root = "/a,upperdir=/etc"}).has_value());
  EXPECT_TRUE(validate(Spec{.hosts = 1}).has_value());
}

TEST(Spec, KeepsTheMachineThatItIsLike) {
  const Spec spec{.hosts = 4, .like = "dgx-h100"};
  const auto read = from_json(to_json(spec));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->like, "dgx-h100");
  EXPECT_TRUE(validate(Spec{.hosts = 250, .like = "dgx-h100"}));
  EXPECT_FALSE(validate(Spec{.hosts = 251, .like = "dgx-h100"}));  // a rail has a /24
  EXPECT_TRUE(validate(Spec{.hosts = 1, .nic_names = {"enP7s7"}}));
}

}  // namespace
}  // namespace muster::lab
