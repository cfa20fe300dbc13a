#include "run/inquiry.hpp"

#include <gtest/gtest.h>

#include "fake_loop.hpp"

namespace muster::run {
namespace {

class InquiryTest : public testing::Test {
 protected:
  FakeLoop loop_;
  std::set<std::string> hosts_ = {"n1", "n2"};
  std::vector<int> asked_ = {};
  Inquiry inquiry_{loop_, [this](const agent::Inspection& what) {
                     asked_.push_back(what.number);
                     return hosts_;
                   }};
  std::vector<std::string> answers_ = {};  // each answer's number of hosts, or its error

  void begin(Urgency urgency = Urgency::kUser) {
    inquiry_.begin({}, urgency, [this](const Result<HostViews>& views) {
      answers_.push_back(views ? std::to_string(views->size()) : views.error().what);
    });
  }
};

using Answers = std::vector<std::string>;

TEST_F(InquiryTest, EndsWhenAllHostsHaveAnswered) {
  begin();
  inquiry_.take("n1", asked_.back(), {});
  EXPECT_TRUE(inquiry_.under_way());
  inquiry_.take("n2", asked_.back(), {});
  EXPECT_FALSE(inquiry_.under_way());
  EXPECT_EQ(answers_, Answers{"2"});
  EXPECT_LT(loop_.elapsed(), 0.1);
}

TEST_F(InquiryTest, EndsWithoutAHostThatDoesNotAnswer) {
  begin();
  inquiry_.take("n2", asked_.back(), {});
  loop_.run();
  EXPECT_EQ(answers_, Answers{"1"});
  EXPECT_LT(loop_.elapsed(), 10);
}

TEST_F(InquiryTest, TakesNoAnswerToAnEarlierQuestionAndNoneOfAStranger) {
  begin();
  const int first = asked_.back();
  loop_.run();
  begin();
  inquiry_.take("n1", first, {});
  inquiry_.take("n3", asked_.back(), {});
  loop_.run();
  EXPECT_EQ(answers_, (Answers{"0", "0"}));
}

TEST_F(InquiryTest, TheLaterOneOfEqualsIsToldToComeBack) {
  begin();
  begin();
  EXPECT_EQ(asked_.size(), 1U);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].starts_with("another inspection of this run is under way; it takes up"));
  loop_.run();
  EXPECT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[1], "0");
}

TEST_F(InquiryTest, AMoreUrgentOneTakesItsPlace) {
  begin(Urgency::kGlance);
  begin(Urgency::kTimeOut);
  EXPECT_EQ(asked_.size(), 2U);
  EXPECT_EQ(answers_.size(), 1U);
  EXPECT_EQ(inquiry_.under_way(), Urgency::kTimeOut);
  begin(Urgency::kSilence);
  EXPECT_EQ(asked_.size(), 2U);
  inquiry_.take("n1", asked_.back(), {});
  inquiry_.take("n2", asked_.back(), {});
  EXPECT_EQ(answers_.back(), "2");
}

TEST_F(InquiryTest, IsCancelledUnlessItIsMoreUrgent) {
  begin(Urgency::kTimeOut);
  inquiry_.cancel(Urgency::kSilence, "over");
  EXPECT_TRUE(inquiry_.under_way());
  inquiry_.cancel(Urgency::kTimeOut, "over");
  EXPECT_FALSE(inquiry_.under_way());
  EXPECT_EQ(answers_, Answers{"over"});
  loop_.run();
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(InquiryTest, EndsAtOnceWhenNobodyCanBeAsked) {
  hosts_.clear();
  begin();
  loop_.run();
  EXPECT_EQ(answers_, Answers{"0"});
  EXPECT_LT(loop_.elapsed(), 0.1);
}

}  // namespace
}  // namespace muster::run
