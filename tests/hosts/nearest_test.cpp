#include "hosts/nearest.hpp"

#include <gtest/gtest.h>

namespace muster::hosts {
namespace {

TEST(Nearest, NamesTheOneMeantOrAll) {
  EXPECT_EQ(did_you_mean("host", {"hosts", "hostfile"}), "did you mean 'hosts'?");
  EXPECT_EQ(did_you_mean("host-file", {"hosts", "hostfile"}), "did you mean 'hostfile'?");
  EXPECT_EQ(did_you_mean("zzzzzz", {"hosts", "hostfile"}), "known are: hosts, hostfile");
  EXPECT_EQ(did_you_mean(std::string(100000, 'h'), {"hosts", "hostfile"}),
            "known are: hosts, hostfile");
}

TEST(Nearest, CountsMistakes) {
  constexpr std::string_view kWords[] = {"run", "runs", "check", "status"};
  EXPECT_EQ(nearest("rnu", kWords, 1), "run") << "swapped letters are one mistake";
  EXPECT_EQ(nearest("chekc", kWords, 1), "check");
  EXPECT_EQ(nearest("stats", kWords, 1), "status");
  EXPECT_EQ(nearest("runs", kWords, 1), "runs") << "the nearest, not the first";
  EXPECT_EQ(nearest("chkce", kWords, 1), "");
  EXPECT_EQ(nearest("", kWords, 2), "");
  EXPECT_EQ(nearest(std::string(100000, 'r'), kWords, 200000), "") << "bounded cost";
}

}  // namespace
}  // namespace muster::hosts
