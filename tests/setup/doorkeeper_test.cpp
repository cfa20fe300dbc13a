#include "setup/doorkeeper.hpp"

#include <gtest/gtest.h>

namespace muster::setup {
namespace {

class FakePerson : public Person {
 public:
  [[nodiscard]] bool present() const override { return present_; }
  [[nodiscard]] bool accept(std::span<const KeyOffer> offers) override {
    shown_.emplace_back(offers.begin(), offers.end());
    return accepts_;
  }
  [[nodiscard]] std::optional<Secret> secret(const std::string& prompt) override {
    asked_.push_back(prompt);
    return says_ ? std::optional(Secret(*says_)) : std::nullopt;
  }
  void tell(const std::string&) override {}

  bool present_ = true;
  bool accepts_ = true;
  std::optional<std::string> says_ = "hunter2";
  std::vector<std::vector<KeyOffer>> shown_;
  std::vector<std::string> asked_;
};

std::string print_of(char c) {
  return "SHA256:" + std::string(43, c);
}

std::string key_prompt(char c) {
  return "The authenticity of host 'n (198.18.0.1)' can't be established.\nED25519 key fingerprint "
         "is " +
         print_of(c) +
         ".\nThis key is not known by any other names.\nAre you sure you want to continue "
         "connecting (yes/no/[fingerprint])? ";
}

std::vector<std::string> three_names() {
  return {"n1", "n2", "n3"};
}

struct Desk {
  explicit Desk(DoorPolicy policy = {}) : door(std::move(policy), person) {
    door.begin(three_names());
  }
  FakePerson person;
  Doorkeeper door;
};

TEST(Doorkeeper, ShowsAllKeysAtOnceWhenEveryHostHasAskedOrEnded) {
  Desk desk;
  EXPECT_TRUE(desk.door.on_question({3, "n3", key_prompt('C')}).empty());
  EXPECT_TRUE(desk.door.on_question({1, "n1", key_prompt('A')}).empty());
  EXPECT_TRUE(desk.person.shown_.empty());
  const auto replies = desk.door.on_end("n2");  // unreachable
  ASSERT_EQ(desk.person.shown_.size(), 1U);
  ASSERT_EQ(desk.person.shown_[0].size(), 2U);
  EXPECT_EQ(desk.person.shown_[0][0].host, "n1");
  ASSERT_EQ(replies.size(), 2U);
  // The answer is the fingerprint, so that ssh itself compares it.
  EXPECT_EQ(replies[0].id, 1);
  EXPECT_EQ(replies[0].text.text(), print_of('A'));
  EXPECT_EQ(replies[1].text.text(), print_of('C'));
}

TEST(Doorkeeper, ARefusalBecomesNoAndIsRemembered) {
  Desk desk;
  desk.person.accepts_ = false;
  desk.door.begin(std::vector<std::string>{"n1"});
  const auto replies = desk.door.on_question({1, "n1", key_prompt('A')});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].text.text(), "no");
  ASSERT_NE(desk.door.trouble("n1"), nullptr);
}

TEST(Doorkeeper, WithAFileOfFingerprintsNobodyIsAskedAndOthersGoOn) {
  Desk desk({.expected = Fingerprints{{"n1", {print_of('A')}}, {"n2", {print_of('X')}}}});
  EXPECT_EQ(desk.door.on_question({1, "n1", key_prompt('A')}).at(0).text.text(), print_of('A'));
  EXPECT_EQ(desk.door.on_question({2, "n2", key_prompt('B')}).at(0).text.text(), "no");
  EXPECT_EQ(desk.door.on_question({3, "n3", key_prompt('C')}).at(0).text.text(), "no");
  EXPECT_TRUE(desk.person.shown_.empty());
  EXPECT_EQ(desk.door.trouble("n1"), nullptr);
  const std::string& what = desk.door.trouble("n2")->what;
  EXPECT_NE(what.find(print_of('X')), std::string::npos);
  EXPECT_NE(what.find(print_of('B')), std::string::npos);
}

TEST(Doorkeeper, APinnedHostNeverGetsASecondKey) {
  Desk desk({.accept_all = true, .pinned = {{"n1", {"ED25519", print_of('P')}}}});
  EXPECT_EQ(desk.door.on_question({1, "n1", key_prompt('A')}).at(0).text.text(), "no");
  EXPECT_NE(desk.door.trouble("n1")->what.find(print_of('P')), std::string::npos);
}

TEST(Doorkeeper, NobodyThereMeansNo) {
  Desk desk;
  desk.person.present_ = false;
  EXPECT_EQ(desk.door.on_question({1, "n1", key_prompt('A')}).at(0).text.text(), "no");
  EXPECT_NE(desk.door.trouble("n1")->hint.find("n1 " + print_of('A')), std::string::npos);
  const auto replies = desk.door.on_question({2, "n2", "dev@n2's password: "});
  EXPECT_EQ(replies.at(0).kind, ReplyKind::kEndSsh);
}

TEST(Doorkeeper, OnePasswordIsAskedForOnce) {
  Desk desk;
  EXPECT_TRUE(desk.door.on_question({1, "n1", "dev@n1's password: "}).empty());
  EXPECT_TRUE(desk.door.on_end("n2").empty());
  const auto replies = desk.door.on_question({3, "n3", "dev@n3's password: "});
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0].text.text(), "hunter2");
  EXPECT_EQ(desk.person.asked_.size(), 1U);
  desk.door.begin(std::vector<std::string>{"n4", "n5"});
  EXPECT_EQ(desk.door.on_question({4, "n4", "dev@n4's password: "}).at(0).text.text(), "hunter2");
  EXPECT_EQ(desk.person.asked_.size(), 1U);
}

TEST(Doorkeeper, APasswordIsNeverTriedTwiceOnAHost) {
  Desk desk({.password = Secret("hunter2")});
  EXPECT_EQ(desk.door.on_question({1, "n1", "(dev@n1) Password: "}).at(0).text.text(), "hunter2");
  const auto again = desk.door.on_question({2, "n1", "dev@n1's password: "});
  EXPECT_EQ(again.at(0).kind, ReplyKind::kEndSsh);
  EXPECT_TRUE(again.at(0).text.text().empty());
  EXPECT_EQ(desk.door.trouble("n1")->what, "it refused the password");
}

TEST(Doorkeeper, ThePasswordGoesToNoJumpHostNoPassphraseAndNoOtherQuestion) {
  Desk desk({.password = Secret("hunter2")});
  desk.person.present_ = false;
  const auto jump = desk.door.on_question({1, "n1", "dev@bastion's password: ", true});
  EXPECT_EQ(jump.at(0).kind, ReplyKind::kEndSsh);
  const auto phrase = desk.door.on_question({2, "n2", "Enter passphrase for key '/k': "});
  EXPECT_EQ(phrase.at(0).kind, ReplyKind::kDecline);
  const auto code = desk.door.on_question({3, "n3", "(dev@n3) Verification code: "});
  EXPECT_EQ(code.at(0).kind, ReplyKind::kEndSsh);
  for (const auto* replies : {&jump, &phrase, &code}) {
    EXPECT_TRUE(replies->at(0).text.text().empty());
  }
}

TEST(Doorkeeper, AnAnswerThatSshDoesNotTakeEndsInNo) {
  Desk desk({.accept_all = true});
  EXPECT_EQ(desk.door.on_question({1, "n1", key_prompt('A')}).at(0).text.text(), print_of('A'));
  EXPECT_EQ(desk.door.on_question({2, "n1", "Please type 'yes', 'no' or the fingerprint: "})
                .at(0)
                .text.text(),
            "no");
}

}  // namespace
}  // namespace muster::setup
