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

}  // namespace
}  // namespace muster::hosts
