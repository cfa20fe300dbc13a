#include "setup/login.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<sys::Ended> ended(int code, std::string out, std::string err) {
  return sys::Ended{.code = code, .out = std::move(out), .err = std::move(err)};
}

TEST(FirstLoginWords, AskAboutUnknownKeysAndPinIntoTheHostsOwnFile) {
  const auto words = first_login_words({"n1"}, {});
  EXPECT_TRUE(has(words, "StrictHostKeyChecking=ask"));
  EXPECT_TRUE(has(words, "UserKnownHostsFile=~/.ssh/muster/known_hosts.d/n1"));
  EXPECT_TRUE(has(words, "HashKnownHosts=no"));
  EXPECT_TRUE(has(words, "KnownHostsCommand=none"));
  EXPECT_TRUE(has(words, "VerifyHostKeyDNS=no"));
  EXPECT_TRUE(has(words, "NumberOfPasswordPrompts=1"));
  EXPECT_TRUE(has(words, "ForwardAgent=no"));
  EXPECT_TRUE(has(words, "PermitLocalCommand=no"));
}

TEST(FirstLoginWords, WithAPasswordNoStrangeKeysUseUpTheAttempts) {
  const auto words =
      first_login_words({"n1", "dev", 2222}, {.only_cluster_key = true, .key = "/h/100%/id"});
  EXPECT_TRUE(has(words, "IdentitiesOnly=yes"));
  EXPECT_TRUE(has(words, "/h/100%%/id"));
  EXPECT_TRUE(has(words, "dev"));
  EXPECT_TRUE(has(words, "2222"));
  EXPECT_FALSE(has(first_login_words({"n1"}, {}), "IdentitiesOnly=yes"));
}

TEST(JudgeVisit, TheScriptsEndIsWhatCounts) {
  const Visit good = judge_visit("n1", ended(0, "motd\nmuster changed x\nmuster end\n", ""), {});
  EXPECT_FALSE(good.error.has_value());
  EXPECT_EQ(good.report.changes, std::vector<std::string>{"x"});
  const Visit cut = judge_visit("n1", ended(0, "muster changed x\n", ""), {});
  EXPECT_TRUE(cut.error.has_value());
  EXPECT_TRUE(cut.entered());
  const Visit silent = judge_visit("n1", ended(0, "This account is not available.\n", ""), {});
  EXPECT_TRUE(silent.error.has_value());
  EXPECT_FALSE(silent.entered());
}

TEST(JudgeVisit, AChangedKeyIsShownBesideThePinnedOne) {
  const std::string old_print = "SHA256:" + std::string(43, 'P');
  const std::string new_print = "SHA256:" + std::string(43, 'N');
  const Visit visit = judge_visit(
      "n1",
      ended(255, "",
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nThe fingerprint for the ED25519 "
            "key sent by the remote host is\n" +
                new_print +
                ".\nPlease contact your system administrator.\nHost key verification failed.\n"),
      HostKey{"ED25519", old_print});
  ASSERT_TRUE(visit.error.has_value());
  EXPECT_EQ(visit.error->code, ErrorCode::kUnreachable);
  EXPECT_NE(visit.error->what.find(old_print), std::string::npos);
  EXPECT_NE(visit.error->what.find(new_print), std::string::npos);
  EXPECT_FALSE(visit.denied);
}

TEST(JudgeVisit, TellsDeniedFromUnreachableAndShowsNoControlCharacters) {
  EXPECT_TRUE(
      judge_visit("n1", ended(255, "", "dev@n1: Permission denied (publickey).\n"), {}).denied);
  const Visit gone = judge_visit(
      "n1", ended(255, "", "\x1b[2Jssh: connect to host n1 port 22: No route to host\n"), {});
  EXPECT_FALSE(gone.denied);
  EXPECT_FALSE(gone.lost);
  EXPECT_EQ(to_text(*gone.error).find('\x1b'), std::string::npos);
}

TEST(JudgeVisit, AConnectionThatJustEndedIsLost) {
  EXPECT_TRUE(
      judge_visit("n1", ended(255, "", "Connection closed by 198.18.0.1 port 22\n"), {}).lost);
  for (const char* told : {"dev@n1: Permission denied (publickey).\n",
                           "Received disconnect from 198.18.0.1 port 22:2: Too many authentication "
                           "failures\n"}) {
    EXPECT_FALSE(judge_visit("n1", ended(255, "", told), {}).lost) << told;
  }
}

}  // namespace
}  // namespace muster::setup
