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
  std::vector<std::size_t> answers_ = {};  // hosts in each

  void begin() {
    inquiry_.begin({}, [this](const std::set<std::string>& /*asked*/, const HostViews& views) {
      answers_.push_back(views.size());
    });
  }
};

TEST_F(InquiryTest, EndsWhenAllHostsHaveAnswered) {
  begin();
  inquiry_.take("n1", asked_.back(), {});
  EXPECT_TRUE(inquiry_.under_way());
  inquiry_.take("n2", asked_.back(), {});
  EXPECT_FALSE(inquiry_.under_way());
  EXPECT_EQ(answers_, std::vector<std::size_t>{2});
  EXPECT_LT(loop_.elapsed(), 0.1);
}

TEST_F(InquiryTest, EndsWithoutAHostThatDoesNotAnswer) {
  begin();
  inquiry_.take("n2", asked_.back(), {});
  loop_.run();
  EXPECT_EQ(answers_, std::vector<std::size_t>{1});
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
  EXPECT_EQ(answers_, (std::vector<std::size_t>{0, 0}));
}

TEST_F(InquiryTest, TheNextOneWaits) {
  begin();
  begin();
  EXPECT_EQ(asked_.size(), 1U);
  loop_.run();
  EXPECT_EQ(asked_.size(), 2U);
  EXPECT_EQ(answers_.size(), 2U);
}

TEST_F(InquiryTest, EndsAtOnceWhenNobodyCanBeAsked) {
  hosts_.clear();
  begin();
  loop_.run();
  EXPECT_EQ(answers_, std::vector<std::size_t>{0});
  EXPECT_LT(loop_.elapsed(), 0.1);
}

}  // namespace
}  // namespace muster::run
