#include "checks/deviations.hpp"

#include <gtest/gtest.h>

namespace muster::checks {
namespace {

// Formats the deviations as in "n3,n4: numpy 1 not 2 of n1, most hosts; ...". "-" stands for a
// missing item.
std::string differences_in(const std::vector<HostItems>& hosts) {
  std::string text;
  for (const Deviation& one : deviations(hosts)) {
    text += text.empty() ? "" : "; ";
    for (const std::string& host : one.hosts) text += (host == one.hosts[0] ? "" : ",") + host;
    text += ':';
    for (const Difference& difference : one.differences) {
      text += " " + difference.name + " " + difference.value.value_or("-") + " not " +
              difference.usual.value_or("-") + " of " + difference.usual_host + ",";
    }
    text += " " + one.usual_hosts;
  }
  return text;
}

TEST(Deviations, AreFromWhatMostHostsHave) {
  const struct {
    std::vector<HostItems> hosts;
    std::string expected;
  } cases[] = {
      {{}, ""},
      {{{"n1", {{"a", "1"}}}}, ""},
      {{{"n1", {{"a", "1"}}}, {"n2", {{"a", "1"}}}}, ""},
      // Of two hosts, the first counts as the usual one.
      {{{"n1", {{"a", "1"}}}, {"n2", {{"a", "2"}}}}, "n2: a 2 not 1 of n1, n1"},
      {{{"n1", {{"a", "2"}}}, {"n2", {{"a", "1"}}}, {"n3", {{"a", "1"}}}},
       "n1: a 2 not 1 of n2, most hosts"},
      {{{"n1", {{"a", "1"}, {"b", "1"}}}, {"n2", {{"a", "1"}}}, {"n3", {{"a", "1"}}}},
       "n1: b 1 not - of n2, most hosts"},
      {{{"n1", {{"a", "1"}}}, {"n2", {}}, {"n3", {{"a", "1"}}}}, "n2: a - not 1 of n1, most hosts"},
      // Each host has its own deviation.
      {{{"n1", {{"a", "9"}, {"b", "1"}}},
        {"n2", {{"a", "1"}, {"b", "9"}}},
        {"n3", {{"a", "1"}, {"b", "1"}}}},
       "n1: a 9 not 1 of n2, most hosts; n2: b 9 not 1 of n1, most hosts"},
      {{{"n1", {{"a", "1"}}}, {"n2", {{"a", "1"}}}, {"n3", {{"a", "2"}}}, {"n4", {{"a", "2"}}}},
       "n3,n4: a 2 not 1 of n1, n[1-2]"},
      // Unknown values agree with everything.
      {{{"n1", {{"a", "1"}}}, {"n2", {{"a", std::nullopt}}}, {"n3", {{"a", "1"}}}}, ""},
      {{{"n1", {{"a", std::nullopt}}}, {"n2", {{"a", "1"}}}, {"n3", {{"a", "2"}}}},
       "n3: a 2 not 1 of n2, n2"},
      {{{"n1", {{"a", ""}}}, {"n2", {}}}, "n2: a - not  of n1, n1"},
  };
  for (const auto& one : cases) EXPECT_EQ(differences_in(one.hosts), one.expected);
}

TEST(Deviations, TellItemsApartWhateverIsInTheirNames) {
  const std::vector<HostItems> hosts = {{"n1", {{"a", "1"}, {"b", "2"}}},
                                        {"n2", {{"a", "11:b1=2"}}}};
  EXPECT_TRUE(differences_in(hosts).starts_with("n2:"));
}

}  // namespace
}  // namespace muster::checks
