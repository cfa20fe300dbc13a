#include "run/roster.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

using Names = std::vector<std::string>;

std::string text(const Roster& roster) {
  std::string all;
  for (const hosts::Host& host : roster.members()) {
    all += (all.empty() ? "" : " ") + host.name + ":" + std::to_string(host.slots);
  }
  return all;
}

Roster three(std::vector<hosts::Host> spares, int least = 0) {
  return {{{"n1", 2}, {"n2", 4}, {"n3", 2}}, std::move(spares), least};
}

bool replace(Roster& roster, const std::string& host) {
  return roster.replace(std::vector<BadHost>{{.host = host, .why = "lost"}});
}

TEST(Roster, ASpareTakesTheRanksAndThePlaceOfTheBadHost) {
  Roster roster = three({{"n8"}, {"n9"}});
  EXPECT_TRUE(replace(roster, "n2"));
  EXPECT_EQ(text(roster), "n1:2 n8:4 n3:2");
  EXPECT_EQ(roster.take_changes(), Names{"n8 instead of n2 (lost)"});
  EXPECT_TRUE(roster.take_changes().empty());
}

TEST(Roster, WithoutASpareItIsLeftOutDownToTheLeast) {
  Roster roster = three({}, 2);
  EXPECT_TRUE(replace(roster, "n2"));
  EXPECT_EQ(text(roster), "n1:2 n3:2");
  EXPECT_EQ(roster.take_changes(), Names{"without n2 (lost)"});
  EXPECT_FALSE(replace(roster, "n3"));
  EXPECT_EQ(text(roster), "n1:2 n3:2");
}

TEST(Roster, AllAreNeededUnlessSomethingElseIsSaid) {
  Roster roster = three({});
  EXPECT_FALSE(replace(roster, "n2"));
  EXPECT_EQ(text(roster), "n1:2 n2:4 n3:2");
}

TEST(Roster, ABadHostIsASpareAgainOnceItIsLookedAtAgain) {
  Roster roster = three({{"n9"}});
  EXPECT_TRUE(replace(roster, "n2"));
  EXPECT_FALSE(replace(roster, "n1"));  // n2 was found bad just before
  roster.look_again();
  EXPECT_TRUE(replace(roster, "n1"));
  EXPECT_EQ(text(roster), "n2:2 n9:4 n3:2");
}

TEST(Roster, TwoBadHostsNeverTakeEachOthersPlace) {
  Roster roster = three({{"n9"}});
  EXPECT_FALSE(roster.replace(std::vector<BadHost>{{"n1", "lost"}, {"n2", "lost"}}));
  EXPECT_EQ(text(roster), "n9:2 n2:4 n3:2");
}

TEST(Roster, ASuspectedHostIsReplacedButNeverLeftOut) {
  Roster roster = three({}, 1);
  const std::vector<BadHost> suspect = {{.host = "n2", .why = "twice", .only_for_spare = true}};
  EXPECT_TRUE(roster.replace(suspect));
  EXPECT_EQ(text(roster), "n1:2 n2:4 n3:2");
}

TEST(Roster, AMemberThatIsNamedAsSpareIsNone) {
  Roster roster = three({{"n1"}, {"n9"}});
  EXPECT_TRUE(replace(roster, "n3"));
  EXPECT_EQ(text(roster), "n1:2 n2:4 n9:2");
}

}  // namespace
}  // namespace muster::run
