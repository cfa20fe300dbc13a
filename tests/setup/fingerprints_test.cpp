#include "setup/fingerprints.hpp"

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

std::string print_one() {
  return "SHA256:" + std::string(43, 'A');
}
std::string print_two() {
  return "SHA256:" + std::string(43, 'B');
}

TEST(Fingerprints, AreReadInEveryForm) {
  const auto known = parse_fingerprints(
      "# the rack\n\nn1 " + print_one() + "\n256 " + print_two() + " n2 (ED25519)\n256 " +
          print_two() + " root@n3 (ED25519)\n[n4]:2222,n5 " + print_one() + "\n",
      "prints");
  ASSERT_TRUE(known.has_value()) << to_text(known.error());
  EXPECT_EQ(known->at("n1"), std::vector{print_one()});
  EXPECT_EQ(known->at("n2"), std::vector{print_two()});
  EXPECT_EQ(known->at("n3"), std::vector{print_two()});
  EXPECT_EQ(known->at("n4"), std::vector{print_one()});
  EXPECT_EQ(known->at("n5"), std::vector{print_one()});
}

TEST(Fingerprints, AHostMayHaveSeveral) {
  const auto known =
      parse_fingerprints("n1 " + print_one() + "\nn1 " + print_two() + "\n", "prints");
  EXPECT_EQ(known->at("n1"), (std::vector{print_one(), print_two()}));
}

TEST(Fingerprints, BadLinesAreNamedAndNothingOfThemIsBelieved) {
  for (const std::string line :
       {"n1", "n1 SHA256:short", "n1 MD5:00:11", "n1 yes", "|1|abc=|def= SHA256:x"}) {
    const auto known = parse_fingerprints("\n" + line + "\n", "prints");
    ASSERT_FALSE(known.has_value()) << line;
    EXPECT_EQ(to_text(known.error()).rfind("prints:2: ", 0), 0U);
    EXPECT_EQ(known.error().code, ErrorCode::kUsage);
  }
  EXPECT_FALSE(parse_fingerprints("|1|abc=|def= " + print_one(), "prints").has_value());
}

TEST(Fingerprints, KnownHostsLinesAreSetApartAndLineNumbersKept) {
  const SplitLines split =
      split_known_hosts("n1 ssh-ed25519 AAAAC3Nz\nn2 " + print_one() + "\nn3 ssh-rsa AAAAB3 me\n");
  EXPECT_EQ(split.known_hosts, "n1 ssh-ed25519 AAAAC3Nz\nn3 ssh-rsa AAAAB3 me\n");
  EXPECT_EQ(split.others, "\nn2 " + print_one() + "\n\n");
}

}  // namespace
}  // namespace muster::setup
