#include "cli/meant.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(Meant, FindsTypingMistakes) {
  const std::vector<std::string> commands = {"setup", "check", "run", "runs", "logs", "lab"};
  EXPECT_EQ(meant("chekc", commands), "check");
  EXPECT_EQ(meant("rnu", commands), "run");
  EXPECT_EQ(meant("log", commands), "logs");
  EXPECT_EQ(meant("che", commands), "check") << "the beginning";
  EXPECT_EQ(meant("destroy", commands), "");
  EXPECT_EQ(meant("", commands), "");
}

TEST(Meant, FindsFlags) {
  const std::vector<std::string> flags = {
      "-H", "-f", "--hosts", "--hostfile", "--nproc-per-node", "--nnodes", "--timeout"};
  EXPECT_EQ(meant("--nproc-per-nod", flags), "--nproc-per-node");
  EXPECT_EQ(meant("--nproc", flags), "--nproc-per-node");
  EXPECT_EQ(meant("--time-out", flags), "--timeout");
  EXPECT_EQ(meant("-hostfle", flags), "--hostfile") << "one dash, as mpirun has it";
  EXPECT_EQ(meant("--epochs", flags), "");
  EXPECT_EQ(meant("--no-such-flag", flags), "");
  EXPECT_EQ(meant("-h", flags), "") << "a letter is like no other";
  EXPECT_EQ(meant("--", flags), "");
}

}  // namespace
}  // namespace muster::cli
