#include "explain/brief.hpp"

#include <gtest/gtest.h>

#include "explain/scanned.hpp"

namespace muster::explain {
namespace {

using Lines = std::vector<std::string>;
constexpr std::size_t kWidth = 80;

std::string raised(const std::string& label, const std::string& error,
                   const std::string& file = "/home/dev/train.py") {
  return label + "Traceback (most recent call last):\n" + label + "  File \"" + file +
         "\", line 57, in load_shard\n" + label + error + "\n";
}

const std::string kShmFull =
    "[n2:1] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9), error: "
    "No space left on device\n";

TEST(Brief, OfAnExceptionNamesTheUsersFileAndDoesNotRepeatTheVerdict) {
  const Explanation found =
      explained(raised("[n2:3] ", "ValueError: x"),
                {.first_failed_rank = 3, .verdict = "rank 3 on n2 ended with exit code 1"});
  EXPECT_EQ(brief_lines(found, 8, kWidth),
            (Lines{"  cause      ValueError: x",
                   "  your code  /home/dev/train.py:57, in load_shard", "  seen in    log:3"}));
}

TEST(Brief, OfManyRanksNamesThem) {
  std::string log;
  for (int rank = 0; rank < 8; ++rank) {
    log += raised("[n1:" + std::to_string(rank) + "] ",
                  rank == 3 ? "KeyError: 'lr'" : "RuntimeError: rank 7 said no");
  }
  EXPECT_EQ(brief_lines(explained(log), 8, kWidth),
            (Lines{"  maybe      RuntimeError: rank 7 said no", "  where      ranks 0-2,4-7 on n1",
                   "  your code  /home/dev/train.py:57, in load_shard", "  seen in    log:3",
                   "  or maybe   rank 3 on n1: KeyError: 'lr'"}));
}

TEST(Brief, OfAKnownFailureHasTheFirstStepsThatFit) {
  const std::string refused = "ssh: connect to host n3 port 22: Connection refused\n";
  EXPECT_EQ(
      brief_lines(explained(refused), 7, kWidth),
      (Lines{"  cause      ssh cannot connect to n3 on port 22",
             "             [ssh-connect-refused-or-timeout]",
             "  seen in    log:1: ssh: connect to host n3 port 22: Connection refused",
             "  to fix     Start the host or its sshd (as root on the host: systemctl start",
             "             sshd; on Debian and Ubuntu the service is called ssh).",
             "             If sshd uses another port, pass it with --port, or set Port for the",
             "             host in ~/.ssh/config."}));
}

TEST(Brief, FitsIntoAnyRoom) {
  const std::string deep =
      "/home/dev/" + std::string(60, 'a') + "/" + std::string(70, 'b') + "/x.py";
  const std::string logs[] = {
      kShmFull, raised("[n2:1] ", "ValueError: " + std::string(500, 'v'), deep),
      raised("[n1:0] ", "ValueError: a") + raised("[n2:1] ", "TypeError: b", "/b.py") + kShmFull};
  for (const std::string& log : logs) {
    for (std::size_t most = 1; most < 12; ++most) {
      const Lines lines = brief_lines(explained(log), most, kWidth);
      EXPECT_LE(lines.size(), most);
      EXPECT_FALSE(lines.empty());
      for (const std::string& line : lines) EXPECT_LE(line.size(), kWidth) << line;
    }
  }
  const Lines lines = brief_lines(explained(logs[1]), 8, kWidth);
  EXPECT_EQ(lines[3], "  your code  ..." + std::string(1, '/') + "x.py:57, in load_shard");
}

TEST(Brief, OfNothingIsNothing) {
  EXPECT_TRUE(brief_lines(explained("epoch 1\n"), 8, kWidth).empty());
  EXPECT_FALSE(is_confident(explained("the frobnicator failed\n")));
  EXPECT_TRUE(is_confident(explained(kShmFull)));
}

}  // namespace
}  // namespace muster::explain
