#include "run/last_words.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster::run {
namespace {

TEST(LastWords, OpenMpiReportsWhichRanksLostAConnection) {
  EXPECT_EQ(reported_cut_off("[n1:00000] *** An error occurred in Socket closed\n"
                             "[n1:00000] *** reported by process [1639514113,0]\n"
                             "[n1:00000] *** on a NULL communicator\n"
                             "[n3:00000] *** An error occurred in Socket closed\n"
                             "[n3:00000] *** reported by process [1639514113,12]\n"),
            (std::set{0, 12}));
}

TEST(LastWords, OtherErrorsOfOpenMpiAreTheRanksOwn) {
  EXPECT_TRUE(reported_cut_off("[n1:00000] *** An error occurred in MPI_Send\n"
                               "[n1:00000] *** reported by process [1639514113,0]\n")
                  .empty());
}

TEST(LastWords, TornReportsNameNobody) {
  for (const char* const end :
       {"", "\n", "\n*** reported by process [", "\n*** reported by process [1",
        "\n*** reported by process [1,", "\n*** reported by process [1,x]",
        "\n*** reported by process [1,-2]", "\n*** reported by process [1,3",
        "\n*** reported by process [1,99999999999]"}) {
    EXPECT_TRUE(
        reported_cut_off("*** An error occurred in Socket closed" + std::string(end)).empty())
        << end;
  }
}

TEST(LastWords, RanksSayItInTheWordsOfTheirLibrary) {
  EXPECT_TRUE(
      says_cut_off("RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer "
                   "[198.18.0.2]:39622\n"));
  EXPECT_TRUE(
      says_cut_off("Abort(1) on node 0: MPIDI_progress_test: Communication error with rank 1\n"));
  EXPECT_FALSE(says_cut_off("ValueError: not enough values to unpack\n"));
  EXPECT_FALSE(says_cut_off(""));
}

TEST(LastWords, MpichAndIntelSayTheCodeOfAnAbort) {
  EXPECT_EQ(said_abort_code("loss is nan\n"
                            "Abort(7) on node 1 (rank 1 in comm 0): application called "
                            "MPI_Abort(MPI_COMM_WORLD, 7) - process 1\n"),
            7);
  EXPECT_EQ(said_abort_code("Abort(-1) on node 1 (rank 1 in comm 0): application called\n"), 255);
  EXPECT_EQ(said_abort_code("Abort(807011599) on node 0: Fatal error in MPI_Init\n"), 15);
  for (const char* const other :
       {"", "Abort(", "Abort(7", "Abort(7)", "Abort(x) on node 1", "Abort(256) on node 1",
        "Abort(99999999999999999999) on node 1", "he said Abort(7) on node 1"}) {
    EXPECT_EQ(said_abort_code(other), std::nullopt) << other;
  }
}

TEST(LastWords, ATimeOutIsAnotherMatter) {
  const char* const gloo =
      "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 5000ms for recv "
      "operation to complete\n";
  EXPECT_TRUE(says_timed_out(gloo));
  EXPECT_FALSE(says_cut_off(gloo));
  EXPECT_FALSE(says_timed_out("TimeoutError: the download took too long\n"));
}

}  // namespace
}  // namespace muster::run
