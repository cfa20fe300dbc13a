// Errors that ranks print before they end and that are not in the catalogue.
#include <csignal>

#include <gtest/gtest.h>

#include "explain/scanned.hpp"
#include "explain/text.hpp"

namespace muster::explain {
namespace {

const std::string kAbort =
    "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n";
const std::string kPeerGone =
    "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:547] Connection closed by peer "
    "[198.18.1.2]:33218\n";

RunKnowledge exited(std::set<int> ranks, int first = -1) {
  return {.first_failed_rank = first, .gave_up_ranks = std::move(ranks)};
}

TEST(PartingWords, BeforeAnAbortAreACause) {
  const Explanation found = explained("[n1:0] step 4\n[n2:1] cannot open grid-1.txt\n[n2:1] " +
                                      kAbort + "[n1:0] step 5\n");
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_TRUE(is_parting_words(found.causes[0]));
  EXPECT_EQ(found.confidence, Confidence::kMedium);
  EXPECT_EQ(full_text(found, 80).find(
                "cannot open grid-1.txt\n"
                "  where      rank 1 on n2\n"
                "  seen in    log:2\n"
                "  meaning    muster does not know this message. It is the last one before the\n"
                "             rank gave up.\n"),
            0U)
      << full_text(found, 80);
}

TEST(PartingWords, AreFoundIfTheEngineReportsTheAbortElsewhere) {
  const Explanation found =
      explain(scanned({{"err", "[n2:1] cannot open grid-1.txt\n"},
                       {"engine", "----------------------------------\n" + kAbort},
                       {"out", "[n2:1] step 5\n"}}));
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].text, "cannot open grid-1.txt");
  EXPECT_EQ(found.causes[0].place.file, "err");
}

TEST(PartingWords, WithoutALabelAreDoubtful) {
  const Explanation found = explained("cannot open grid-1.txt\n" + kAbort);
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].text, "cannot open grid-1.txt");
  EXPECT_EQ(found.causes[0].ranks, std::vector<int>{1});
  EXPECT_EQ(found.confidence, Confidence::kLow);
  EXPECT_EQ(explained("cannot open grid-1.txt\nstep 5\n").causes.size(), 0U);
}

TEST(PartingWords, AreNotInOpenMpisReportOfACrash) {
  const Explanation found = explained(
      "[n2:00073] *** Process received signal ***\n[n2:00073] Signal: Segmentation fault (11)\n"
      "[n2:00073] Signal code: Address not mapped (1)\n"
      "[n2:00073] Failing at address: 0x5625fa8e4de8\n"
      "[n2:00073] [ 1] ./heat(+0x2dcc)[0x556b86f6fdcc]\n"
      "[n2:00073] *** End of error message ***\n" +
      kAbort +
      "prterun has exited due to process rank 1 with PID 74 on node n2 calling\n\"abort\". This "
      "may have caused other processes in the application to be\nterminated by signals sent by "
      "prterun (as reported here).\n" +
      kAbort);
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].failure->id, "program-segfault");
}

TEST(PartingWords, AreNotInTheHelpOfAnEngine) {
  const std::string ruler = "-----------------------------------------------------\n";
  const Explanation found = explained(
      ruler +
      "prterun has exited due to process rank 0 with PID 0 on node n1 calling\n\"abort\". This may "
      "have caused other processes in the application to be\nterminated by signals sent by prterun "
      "(as reported here).\n" +
      ruler);
  EXPECT_EQ(found.causes.size(), 0U);
  EXPECT_EQ(found.consequences.size(), 1U);
}

TEST(PartingWords, BeforeAnExitAreACauseForTheRankThatFailedFirst) {
  const std::string log = "[n1:0] wrong step\n[n2:1] wrong size\n[n2:2] wrong step\n";
  const Explanation found = explained(log, exited({0, 1, 2}, 1));
  ASSERT_EQ(found.causes.size(), 2U);
  EXPECT_EQ(found.causes[0].text, "wrong size");
  EXPECT_EQ(found.causes[1].text, "wrong step");
  EXPECT_EQ(found.causes[1].ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(explained(log, exited({})).causes.size(), 0U);
  EXPECT_EQ(explained(log, exited({0}, 1)).confidence, Confidence::kLow);
}

TEST(PartingWords, AreNotNeededWhereSomethingElseExplainsTheRank) {
  for (const std::string& line : {
           "[n2:1] " + kPeerGone,
           std::string(
               "[n2:1] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x "
               "(size 9), error: No space left on device\n"),
           std::string(
               "[n2:1] Traceback (most recent call last):\n[n2:1]   File \"a.py\", line 5, in f\n"
               "[n2:1] ValueError: x\n"),
       }) {
    const Explanation found = explain(
        scanned({{"err", line + "[n2:1] bye\n"}, {"out", "[n2:1] step 5\n"}}), exited({1}, 1));
    EXPECT_FALSE(found.causes.empty() && found.consequences.empty()) << line;
    for (const Cause& cause : found.causes) EXPECT_FALSE(is_parting_words(cause)) << line;
  }
}

TEST(PartingWords, OfARankThatEndedItselfAreTheLineThatShowsIt) {
  RunKnowledge run = exited({1}, 1);
  run.fatal_signal = FatalSignal{.signal = SIGABRT, .text = "rank 1 ended with signal 6"};
  const Explanation found = explained(
      "[n2:1] terminate called after throwing an instance of 'GridError'\n"
      "[n2:1]   what():  the halo is too wide\n[n2:1] ./heat(+0x2dcc)[0x563229468dcc]\n",
      run);
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].failure->id, "rank-aborted");
  EXPECT_EQ(found.causes[0].text, "what():  the halo is too wide");
  EXPECT_EQ(found.causes[0].place.line, 2U);
}

TEST(PartingWords, ComeAfterEveryKnownCause) {
  const Explanation found = explained(
      "[n1:0] Traceback (most recent call last):\n[n1:0]   File \"a.py\", line 5, in f\n"
      "[n1:0] ValueError: x\n[n2:3] step 57 loss 0.41\n",
      exited({0, 1, 3}, 3));
  ASSERT_EQ(found.causes.size(), 2U);
  EXPECT_EQ(found.causes[0].text, "ValueError: x");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(PartingWords, OfARankThatCallsAbortInItsOwnCommunicatorAreThoseOfTheRankThatSaysSo) {
  const std::string log =
      "[n1:0] step 5\n[n2:2] wrong size\n[n2:2] MPI_ABORT was invoked on rank 0 in communicator "
      "MPI COMM 3 SPLIT FROM 0\n";
  const Explanation found = explained(log);
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].text, "wrong size");
}

TEST(PartingWords, AreNotThoseOfMuster) {
  const std::string remark =
      "[n2:1] muster: already set in the environment, so muster did not "
      "change it: NCCL_SOCKET_IFNAME\n";
  EXPECT_TRUE(explained(remark, exited({1}, 1)).causes.empty());
  const Explanation found = explained("[n2:1] wrong size\n" + remark, exited({1}, 1));
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].text, "wrong size");
}

TEST(PartingWords, AreNotDoubtedBecauseOfAKernelsMessageThatMayBeOld) {
  RunKnowledge run = exited({1}, 1);
  run.first_failed_host = "n2";
  run.kernel = kernel_log("n2", "nfs: server fs1 not responding, still trying\n");
  const Explanation found = explained("[n2:1] cannot open grid-1.txt\n", run);
  ASSERT_EQ(found.causes.size(), 2U);
  EXPECT_EQ(found.causes[0].failure->id, "nfs-server-silent");
  EXPECT_EQ(found.causes[1].text, "cannot open grid-1.txt");
  EXPECT_EQ(found.confidence, Confidence::kMedium);
  EXPECT_EQ(found.reason, "the log shows other failures that could be the cause too");
}

TEST(PartingWords, OfRulersNativeStacksWarningsAndBarsAreNone) {
  const Explanation found = explained(
      "[n2:1] wrong size\n[n2:1] /venv/x.py:5: UserWarning: slow\n[n2:1]   warnings.warn(\n"
      "[n2:1]  40%|####      | 4/10 [00:01<00:02, 3.9it/s]\n[n2:1] "
      "./heat(+0x2dcc)[0x563229468dcc]\n[n2:1] ====================\n",
      exited({1}, 1));
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].text, "wrong size");
}

}  // namespace
}  // namespace muster::explain
