#include "remote/diagnose.hpp"

#include <gtest/gtest.h>

namespace muster::remote {
namespace {

std::string_view id_of(std::string_view text) {
  const auto failure = diagnose(text);
  return failure ? failure->id : "";
}

TEST(Diagnose, KnowsWhatSshSays) {
  EXPECT_EQ(id_of("dev@n1: Permission denied (publickey,password).\n"), "ssh-publickey-denied");
  EXPECT_EQ(id_of("Host key verification failed.\n"), "ssh-host-key-unknown");
  EXPECT_EQ(id_of("ssh: connect to host n1 port 22: Connection refused\n"),
            "ssh-connect-refused-or-timeout");
  EXPECT_EQ(id_of("kex_exchange_identification: Connection closed by remote host\n"),
            "ssh-maxstartups-throttle");
  EXPECT_EQ(id_of("bash: line 1: foo: command not found\n"), "");
}

TEST(Diagnose, AChangedKeyIsNotTakenForAnUnknownOne) {
  EXPECT_EQ(id_of("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n...\n"
                  "Host key verification failed.\n"),
            "ssh-host-key-changed");
}

TEST(Diagnose, TheErrorNamesTheHostAndKeepsSshsOwnWords) {
  const Error error =
      unreachable("n3", "noise\nssh: connect to host n3 port 22: No route to host\n");
  EXPECT_EQ(error.code, ErrorCode::kUnreachable);
  const std::string text = to_text(error);
  EXPECT_EQ(text.find("n3: there is no network route to the host"), 0U);
  EXPECT_NE(text.find("ssh: connect to host n3 port 22: No route to host"), std::string::npos);
}

TEST(Diagnose, AConnectionThatBreaksWithoutAWordIsCalledLost) {
  const std::string text = to_text(unreachable("n3", ""));
  EXPECT_NE(text.find("n3: the connection to the host failed or was lost"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("because"), std::string::npos) << text;
  EXPECT_EQ(to_text(unreachable("n3", "epoch 4\n")).find("ssh said"), std::string::npos);
}

TEST(Diagnose, AHostileBannerDoesNotReachTheTerminal) {
  EXPECT_EQ(to_text(unreachable("n3", "\x1b[2Jgone\r\n")).find('\x1b'), std::string::npos);
}

TEST(ChangedKey, IsReadOutOfWhatSshSays) {
  const ChangedKey changed = changed_key(
      "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
      "The fingerprint for the ED25519 key sent by the remote host is\n"
      "SHA256:Df3qG9QkRvR7gQV7/2g9plZRjS1zXshCrmfA30+CGTs.\r\n"
      "Please contact your system administrator.\r\n"
      "Add correct host key in /home/dev/.ssh/known_hosts to get rid of this message.\r\n"
      "Offending ED25519 key in /home/dev/.ssh/muster/known_hosts.d/n3:12\r\n");
  EXPECT_EQ(changed.presented, "SHA256:Df3qG9QkRvR7gQV7/2g9plZRjS1zXshCrmfA30+CGTs");
  EXPECT_EQ(changed.pinned_file, "/home/dev/.ssh/muster/known_hosts.d/n3");
  EXPECT_EQ(changed.pinned_line, 12U);
  EXPECT_EQ(changed_key("Permission denied (publickey).\n").presented, "");
}

TEST(Diagnose, QuotesNoMoreThanAPersonReads) {
  EXPECT_EQ(first_words("no space\nmore"), "no space");
  EXPECT_LT(first_words(std::string(1 << 20, 'x')).size(), 1100U);
}

}  // namespace
}  // namespace muster::remote
