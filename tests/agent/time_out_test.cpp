#include "agent/time_out.hpp"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

bool is_time_out(std::string_view text) {
  ErrorTail tail;
  tail.add(text);
  return tail.mentions_time_out();
}

TEST(TimeOut, IsKnownByTheWordsOfTheBackends) {
  for (const char* text :
       {"[pair.cc:534] Timed out waiting 5000ms for recv operation to complete",
        "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2",
        "wait timeout after 5000ms, keys: /0/1",
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3",
        "Rank 0 timed out in monitoredBarrier after 1000 ms.",
        "MPI: all_reduce, collective 7 of a group of 4, did not end within 5 s: rank 3 does"}) {
    EXPECT_TRUE(is_time_out(text)) << text;
  }
}

TEST(TimeOut, OfAnythingElseIsNone) {
  for (const char* text :
       {"requests.exceptions.ReadTimeout: HTTPSConnectionPool: Read timed out.",
        "TimeoutError: [Errno 110] Connection timed out", "torch.cuda: timeout=30",
        "subprocess.TimeoutExpired: Command 'make' timed out after 60 seconds", "NCCL_TIMEOUT=10",
        "DataLoader timed out after 5 seconds", ""}) {
    EXPECT_FALSE(is_time_out(text)) << text;
  }
}

TEST(TimeOut, IsFoundInPiecesOfALongText) {
  ErrorTail tail;
  tail.add(std::string(100'000, 'x'));
  tail.add("MPI: barrier did not end wi");
  tail.add("thin the 5000 ms passed to wait()\n");
  EXPECT_TRUE(tail.mentions_time_out());
  tail.add(std::string(100'000, 'x'));
  EXPECT_FALSE(tail.mentions_time_out());
}

}  // namespace
}  // namespace muster::agent
