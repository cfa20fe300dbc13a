#include "setup/launcher.hpp"

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

TEST(SshVersion, IsReadFromEveryVendorsLine) {
  EXPECT_EQ(parse_ssh_version("OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19 27 Jan 2026\n"),
            std::pair(9, 2));
  EXPECT_EQ(parse_ssh_version("OpenSSH_10.0p2, LibreSSL 3.3\n"), std::pair(10, 0));
  EXPECT_FALSE(parse_ssh_version("dropbear v2022\n").has_value());
  EXPECT_LT(std::pair(8, 4), std::pair(8, 5));
}

TEST(KeyList, IsSshKeygens) {
  const auto keys = parse_key_list(
      "256 SHA256:Z3H+PqW6esd+899fQSJfu++wlrlhRKRLO0rTIgFDDTg n1 (ED25519)\nnoise\n");
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0], (HostKey{"ED25519", "SHA256:Z3H+PqW6esd+899fQSJfu++wlrlhRKRLO0rTIgFDDTg"}));
}

TEST(PublicKey, IsOneLineOrAnError) {
  EXPECT_EQ(parse_public_key("ssh-ed25519 AAAAC3 me@here\n", "k.pub").value(),
            "ssh-ed25519 AAAAC3 me@here");
  for (const char* text : {"", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "ssh-ed25519 BBBB\n",
                           "ssh-ed25519 AAAA \x1b[2J\n", "ssh-ed25519 AAAA it's\n"}) {
    EXPECT_FALSE(parse_public_key(text, "k.pub").has_value()) << text;
  }
}

}  // namespace
}  // namespace muster::setup
