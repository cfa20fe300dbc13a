#include "setup/prompt.hpp"

#include <gtest/gtest.h>

#include "base/printable.hpp"

namespace muster::setup {
namespace {

// OpenSSH 9.2's wording.
constexpr const char* kAuthenticity =
    "The authenticity of host 'n1 (198.18.1.1)' can't be established.\n"
    "ED25519 key fingerprint is SHA256:Z3H+PqW6esd+899fQSJfu++wlrlhRKRLO0rTIgFDDTg.\n"
    "This key is not known by any other names.\n"
    "Are you sure you want to continue connecting (yes/no/[fingerprint])? ";

TEST(ParsePrompt, UnderstandsTheHostKeyQuestion) {
  const Prompt prompt = parse_prompt(kAuthenticity);
  EXPECT_EQ(prompt.kind, PromptKind::kHostKey);
  EXPECT_EQ(prompt.address, "198.18.1.1");
  EXPECT_EQ(prompt.key.type, "ED25519");
  EXPECT_EQ(prompt.key.fingerprint, "SHA256:Z3H+PqW6esd+899fQSJfu++wlrlhRKRLO0rTIgFDDTg");
}

TEST(ParsePrompt, UnderstandsPortsOtherTypesAndOtherNames) {
  const Prompt prompt = parse_prompt(
      "The authenticity of host '[n1]:2222 ([198.18.1.1]:2222)' can't be established:\n"
      "but keys of different type are already known for this host.\n"
      "RSA key fingerprint is SHA256:Z3H+PqW6esd+899fQSJfu++wlrlhRKRLO0rTIgFDDTg.\n"
      "This host key is known by the following other names/addresses:\n"
      "    ~/.ssh/known_hosts:1: n9\n"
      "Are you sure you want to continue connecting (yes/no/[fingerprint])? ");
  EXPECT_EQ(prompt.kind, PromptKind::kHostKey);
  EXPECT_EQ(prompt.address, "[198.18.1.1]:2222");
  EXPECT_EQ(prompt.key.type, "RSA");
}

TEST(ParsePrompt, AFingerprintThatIsNoneIsNotAccepted) {
  const Prompt prompt = parse_prompt(
      "The authenticity of host 'n1 (198.18.1.1)' can't be established.\n"
      "ED25519 key fingerprint is MD5:00:11:22.\nAre you sure you want to continue connecting "
      "(yes/no/[fingerprint])? ");
  EXPECT_EQ(prompt.kind, PromptKind::kOther);
}

TEST(ParsePrompt, KnowsPasswordsInWhateverWords) {
  for (const char* text : {"dev@n1's password: ", "(dev@n1) Password: ", "Password:",
                           "(dev@n1) Password for dev@EXAMPLE.ORG: "}) {
    EXPECT_EQ(parse_prompt(text).kind, PromptKind::kPassword) << text;
  }
}

TEST(ParsePrompt, APasswordToBeChangedOrACodeIsNotThePassword) {
  for (const char* text : {"Enter dev@n1's old password: ", "(dev@n1) Current password: ",
                           "Enter dev@n1's new password: ", "Retype new password:",
                           "(dev@n1) Verification code: ", ""}) {
    EXPECT_EQ(parse_prompt(text).kind, PromptKind::kOther) << text;
  }
}

TEST(ParsePrompt, AKeysPassphraseIsNotThePassword) {
  const Prompt prompt = parse_prompt("Enter passphrase for key '/home/dev/.ssh/password_key': ");
  EXPECT_EQ(prompt.kind, PromptKind::kPassphrase);
  EXPECT_EQ(prompt.key_file, "/home/dev/.ssh/password_key");
}

TEST(ParsePrompt, ControlCharactersNeverReachTheTerminal) {
  const Prompt prompt = parse_prompt("(dev@n1) \x1b[2J\x1b[1;1H\x07Password\r\x9b: ");
  for (const char c : prompt.text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_EQ(printable_lines("a\x1b[31mb\tc\xff\nd"), "a?[31mb?c?\nd");
}

TEST(PresentedKey, IsReadOutOfSshsWarning) {
  const auto key = presented_key(
      "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
      "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
      "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
      "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n"
      "Someone could be eavesdropping on you right now (man-in-the-middle attack)!\n"
      "It is also possible that a host key has just been changed.\n"
      "The fingerprint for the ED25519 key sent by the remote host is\n"
      "SHA256:c8Tq4abMm7QIJ8SUiDo6g4/vF4pnYLfsuzrZYbTP9/Q.\n"
      "Please contact your system administrator.\n"
      "Host key verification failed.\n");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(*key, (HostKey{"ED25519", "SHA256:c8Tq4abMm7QIJ8SUiDo6g4/vF4pnYLfsuzrZYbTP9/Q"}));
  EXPECT_FALSE(presented_key("Host key verification failed.\n").has_value());
}

}  // namespace
}  // namespace muster::setup
