#include "run/last_words.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace muster::run {
namespace {

TEST(LastWords, OpenMpiReportsWhichRanksLostAConnection) {
  const std::vector<std::string> words = {"[n1:00000] *** An error occurred in Socket closed",
                                          "[n1:00000] *** reported by process [1639514113,0]",
                                          "[n1:00000] *** on a NULL communicator",
                                          "[n3:00000] *** An error occurred in Socket closed",
                                          "[n3:00000] *** reported by process [1639514113,12]"};
  EXPECT_EQ(reported_cut_off(words), (std::set{0, 12}));
}

TEST(LastWords, OtherErrorsOfOpenMpiAreTheRanksOwn) {
  const std::vector<std::string> words = {"[n1:00000] *** An error occurred in MPI_Send",
                                          "[n1:00000] *** reported by process [1639514113,0]"};
  EXPECT_TRUE(reported_cut_off(words).empty());
}

TEST(LastWords, OpenMpiReportsWhyARankFailed) {
  const std::vector<std::string> words = {
      "[n1:00001] *** An error occurred in Socket closed",
      "[n1:00001] *** reported by process [7,0]",
      "[n3:00001] *** An error occurred in Socket closed",
      "[n3:00001] *** reported by process [7,2]",
      "[launcher:00117] plm:rsh: Warning: setpgid(123,123) failed",
      "----------------------------------------------------",
      "A requested component was not found.",
      "",
      "Component: none_such",
      "----------------------------------------------------",
      "[n2:00160] *** An error occurred in MPI_Init",
      "[n2:00160] *** reported by process [7,1]",
      "[n2:00160] ***    and potentially your MPI job)",
      "----------------------------------------------------",
      "mpirun has exited due to process rank 1",
      "----------------------------------------------------"};
  EXPECT_EQ(
      reported_error(words, 1),
      (std::vector<std::string>{"A requested component was not found.", "Component: none_such",
                                "[n2:00160] *** An error occurred in MPI_Init",
                                "[n2:00160] *** reported by process [7,1]",
                                "[n2:00160] ***    and potentially your MPI job)"}));
  EXPECT_EQ(reported_error(words, 2),
            (std::vector<std::string>{"[n3:00001] *** An error occurred in Socket closed",
                                      "[n3:00001] *** reported by process [7,2]"}));
  EXPECT_TRUE(reported_error(words, 3).empty());
}

TEST(LastWords, TornReportsNameNobody) {
  for (const char* const end :
       {"", "\n", "\n*** reported by process [", "\n*** reported by process [1",
        "\n*** reported by process [1,", "\n*** reported by process [1,x]",
        "\n*** reported by process [1,-2]", "\n*** reported by process [1,3",
        "\n*** reported by process [1,99999999999]"}) {
    const std::vector<std::string> words = {"*** An error occurred in Socket closed", end};
    EXPECT_TRUE(reported_cut_off(words).empty()) << end;
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
  EXPECT_EQ(abort_code(SIGKILL,
                       "loss is nan\n"
                       "Abort(7) on node 1 (rank 1 in comm 0): application called "
                       "MPI_Abort(MPI_COMM_WORLD, 7) - process 1\n"),
            7);
  EXPECT_EQ(abort_code(SIGKILL, "Abort(-1) on node 1 (rank 1 in comm 0): application called\n"),
            255);
  EXPECT_EQ(abort_code(SIGKILL, "Abort(807011599) on node 0: Fatal error in MPI_Init\n"), 15);
  for (const char* const other :
       {"", "Abort(", "Abort(7", "Abort(7)", "Abort(x) on node 1", "Abort(256) on node 1",
        "Abort(99999999999999999999) on node 1", "he said Abort(7) on node 1"}) {
    EXPECT_EQ(abort_code(SIGKILL, other), std::nullopt) << other;
  }
}

TEST(LastWords, OpenMpiSaysTheCodeOfAnAbort) {
  const std::string invoked = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n";
  EXPECT_EQ(abort_code(SIGKILL, "----\n" + invoked + "with errorcode 7.\n\nNOTE: ...\n"), 7);
  EXPECT_EQ(abort_code(SIGKILL, invoked + "  Proc: [[4,1],1]\n  Errorcode: -1\n\nNOTE: ...\n"),
            255);
  for (const std::string& other :
       {invoked, invoked + "with errorcode ", invoked + "with errorcode 7",
        invoked + "with errorcode x.\n", invoked + "with errorcode 0.\n",
        invoked + "  Errorcode: 7", std::string("with errorcode 7.\n")}) {
    EXPECT_EQ(abort_code(SIGKILL, other), std::nullopt) << other;
  }
}

TEST(LastWords, OpenMpiEndsARankForAnErrorWithACodeThatItDoesNotSay) {
  EXPECT_EQ(abort_code(SIGKILL,
                       "[n2:160] *** An error occurred in MPI_Init\n"
                       "[n2:160] *** reported by process [7,1]\n"),
            1);
}

TEST(LastWords, ARankThatExitedItselfHasItsOwnCode) {
  const char* const words = "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort\n";
  EXPECT_EQ(abort_code(W_EXITCODE(7, 0), words), 7);
  EXPECT_EQ(abort_code(W_EXITCODE(15, 0), "[n2:160] *** An error occurred in MPI_Init\n"), 15);
  EXPECT_EQ(abort_code(SIGSEGV, words), std::nullopt);
  EXPECT_EQ(abort_code(W_EXITCODE(7, 0), "ValueError\n"), std::nullopt);
}

TEST(LastWords, ATimeOutIsAnotherMatter) {
  const char* const gloo =
      "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 5000ms for recv "
      "operation to complete\n";
  EXPECT_TRUE(says_timed_out(gloo));
  EXPECT_FALSE(says_cut_off(gloo));
  EXPECT_FALSE(says_timed_out("TimeoutError: the download took too long\n"));
}

TEST(LastWords, MpiAnnouncesTheEndOfARank) {
  EXPECT_TRUE(is_last_line("Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort"));
  EXPECT_FALSE(is_last_line("Aborting the download"));
}

}  // namespace
}  // namespace muster::run
