// Evidence of a run beyond its output: signals, findings of the checks, and kernel logs.
#include "explain/run_evidence.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "explain/scanned.hpp"
#include "explain/text.hpp"

namespace muster::explain {
namespace {

const std::string kRaised =
    "[n2:1] Traceback (most recent call last):\n[n2:1]   File \"train.py\", line 57, in f\n"
    "[n2:1] ValueError: no shard 19\n";
const std::string kNfsSilent = "nfs: server fs1 not responding, still trying\n";
const std::string kOomKill = "Out of memory: Killed process 4711 (python3) total-vm:1kB\n";

RunKnowledge killed_by(int signal, bool memory_ran_out = false) {
  return {.first_failed_rank = 1,
          .first_failed_host = "n2",
          .hosts = {"n1", "n2"},
          .fatal_signal = FatalSignal{.signal = signal,
                                      .memory_ran_out = memory_ran_out,
                                      .text = "rank 1 ended with a signal"}};
}

RunKnowledge with_finding(const std::string& id, bool is_error,
                          std::vector<std::string> hosts = {}) {
  return {.first_failed_rank = 1,
          .first_failed_host = "n2",
          .findings = {{.id = id, .hosts = std::move(hosts), .what = "it", .is_error = is_error}}};
}

std::string first_id(const Explanation& found) {
  if (found.causes.empty()) return "none";
  return found.causes[0].failure == nullptr ? found.causes[0].text : found.causes[0].failure->id;
}

TEST(RunEvidence, OfASignalWithoutALineIsACause) {
  struct Case {
    int signal;
    bool memory_ran_out;
    const char* id;
    Confidence confidence;
  };
  for (const Case& one : {
           Case{SIGSEGV, false, "program-segfault", Confidence::kHigh},
           Case{SIGABRT, false, "rank-aborted", Confidence::kHigh},
           Case{SIGBUS, false, "rank-bus-error", Confidence::kHigh},
           Case{SIGFPE, false, "rank-arithmetic-error", Confidence::kHigh},
           Case{SIGILL, false, "mixed-cpu-isa", Confidence::kHigh},
           Case{SIGKILL, true, "rank-memory-ran-out", Confidence::kHigh},
           Case{0, true, "rank-memory-ran-out", Confidence::kHigh},
           Case{SIGKILL, false, "rank-killed-from-outside", Confidence::kMedium},
           Case{SIGTERM, false, "rank-killed-from-outside", Confidence::kMedium},
           Case{SIGUSR1, false, "none", Confidence::kNone},
       }) {
    const Explanation found = explained("", killed_by(one.signal, one.memory_ran_out));
    EXPECT_EQ(first_id(found), one.id) << one.signal;
    EXPECT_EQ(found.confidence, one.confidence) << one.id;
  }
  const std::string text = full_text(explained("", killed_by(SIGSEGV)), 80);
  EXPECT_EQ(text.find("A process crashed with a segmentation fault [program-segfault]\n"
                      "  where      rank 1 on n2\n"
                      "  shown by   rank 1 ended with a signal\n"),
            0U)
      << text;
}

TEST(RunEvidence, OfASignalComesAfterWhatTheOutputNamesButMemoryComesFirst) {
  EXPECT_EQ(first_id(explained(kRaised, killed_by(SIGABRT))), "ValueError: no shard 19");
  const Explanation found = explained(kRaised, killed_by(SIGKILL, true));
  EXPECT_EQ(first_id(found), "rank-memory-ran-out");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  // An engine can only guess why a rank was killed.
  const std::string guess =
      "mpirun noticed that process rank 1 with PID 5 on node n2 exited on signal 9 (Killed).\n";
  EXPECT_EQ(first_id(explained(guess)), "worker-sigkill");
  EXPECT_EQ(first_id(explained(guess, killed_by(SIGKILL))), "rank-killed-from-outside");
}

TEST(RunEvidence, OfTheKernelNamesMemoryOnlyIfTheRankWasKilled) {
  RunKnowledge run = killed_by(SIGKILL, true);
  run.kernel = kernel_log("n2", kOomKill);
  const Explanation found = explained("", run);
  EXPECT_EQ(first_id(found), "host-oom-kill");
  EXPECT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  EXPECT_EQ(found.causes[0].place.file, "kernel log of n2");
  run.fatal_signal.reset();  // the kernel killed another program on the host
  EXPECT_EQ(first_id(explained(kRaised, run)), "ValueError: no shard 19");
  EXPECT_EQ(explained(kRaised, run).confidence, Confidence::kHigh);
  run = killed_by(SIGKILL);
  run.other_kernels = kernel_log("n1", kOomKill);
  EXPECT_EQ(first_id(explained("", run)), "rank-killed-from-outside");
}

TEST(RunEvidence, OfTheKernelIsTakenFromTheHostOfTheFailedRank) {
  RunKnowledge run = killed_by(SIGKILL, true);
  run.other_kernels = kernel_log("n1", "Out of memory: Killed process 57 (other) total-vm:1kB\n");
  run.kernel = kernel_log("n2", kOomKill);
  const Explanation found = explained("", run);
  ASSERT_EQ(found.causes.size(), 1U);
  EXPECT_EQ(found.causes[0].values.at("pid"), "4711");
  EXPECT_EQ(found.causes[0].place.file, "kernel log of n2");
  EXPECT_EQ(found.causes[0].hosts, std::vector<std::string>{"n2"});
}

TEST(RunEvidence, OfTheKernelDoesNotComeBeforeACrash) {
  RunKnowledge run = killed_by(SIGSEGV);
  run.kernel = kernel_log("n2", kNfsSilent);
  const Explanation found = explained("", run);
  EXPECT_EQ(first_id(found), "program-segfault");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  run.fatal_signal.reset();
  EXPECT_EQ(first_id(explained("", run)), "nfs-server-silent");
  EXPECT_EQ(explained("", run).confidence, Confidence::kMedium);
  run.findings = {{.id = "nccl-dev-shm-full", .what = "it", .is_error = true}};
  EXPECT_EQ(explained("", run).confidence, Confidence::kMedium);
  // After a machine check, the kernel ends a program with SIGBUS, so both are causes.
  run = killed_by(SIGBUS);
  run.kernel = kernel_log("n2", "mce: [Hardware Error]: Machine check events logged\n");
  const Explanation bus = explained("", run);
  ASSERT_EQ(bus.causes.size(), 2U);
  EXPECT_EQ(first_id(bus), "machine-check");
  EXPECT_EQ(bus.causes[1].failure->id, "rank-bus-error");
  EXPECT_EQ(bus.reason, "the log shows other failures that could be the cause too");
}

TEST(RunEvidence, OfMemoryThatRanOutIsNoProofAgainstTheRanksOwnWords) {
  // Memory ran out on the host, but the kernel killed something other than the rank.
  RunKnowledge exited = killed_by(0, true);
  EXPECT_EQ(first_id(explained(kRaised, exited)), "ValueError: no shard 19");
  EXPECT_EQ(first_id(explained("", exited)), "rank-memory-ran-out");
  RunKnowledge killed = killed_by(SIGKILL);  // killed, but long after the host's memory had run out
  killed.kernel = kernel_log("n2", kOomKill);
  EXPECT_EQ(first_id(explained("", killed)), "host-oom-kill");
  EXPECT_EQ(explained("", killed).confidence, Confidence::kMedium);
}

TEST(RunEvidence, OfTheFirstRanksSignalComesBeforeWhatOtherRanksRaisedLater) {
  const std::string other =
      "[n1:0] Traceback (most recent call last):\n[n1:0]   File \"train.py\", line 5, in f\n"
      "[n1:0] ";
  EXPECT_EQ(first_id(explained(other + "EOFError: no more data\n", killed_by(SIGABRT))),
            "rank-aborted");
  EXPECT_EQ(first_id(explained(other + "ConnectionResetError: [Errno 104] reset\n")), "none");
}

TEST(RunEvidence, OfTheKernelIsShownIfNothingElseExplainsTheFailure) {
  RunKnowledge run = killed_by(0);
  run.fatal_signal.reset();
  run.kernel = kernel_log("n2", "ice 0000:18:00.0 eth0: an unheard of error\n");
  ASSERT_EQ(explained("", run).oddities.size(), 1U);
  EXPECT_EQ(explained("", run).oddities[0].place.file, "kernel log of n2");
  run.other_kernels = kernel_log("n1", "ice 0000:18:00.0 eth1: an unheard of error\n");
  EXPECT_EQ(explained("", run).oddities.size(), 1U);
}

TEST(RunEvidence, OfTheKernelAddsToTheUnusualLinesUpToFive) {
  RunKnowledge run = killed_by(0);
  run.fatal_signal.reset();
  run.kernel = kernel_log("n2", "a: an error\nb: an error\nc: an error\n");
  const auto oddities = explained("d: an error\ne: an error\nf: an error\n", run).oddities;
  ASSERT_EQ(oddities.size(), kShownOddities);
  EXPECT_EQ(oddities[2].text, "f: an error");
  EXPECT_EQ(oddities[3].text, "a: an error");
}

TEST(RunEvidence, OfAGpuInTheKernelsLogComesBeforeAnErrorAboutGpusOnly) {
  RunKnowledge run = killed_by(0);
  run.fatal_signal.reset();
  run.kernel = kernel_log("n2", "NVRM: Xid (PCI:0000:18:00): 79, pid=5, GPU has fallen off\n");
  ASSERT_EQ(run.kernel.failures.size(), 1U);
  const std::string xid = run.kernel.failures[0].failure->id;
  EXPECT_EQ(first_id(explained("", run)), xid);
  EXPECT_EQ(explained("", run).confidence, Confidence::kMedium);
  EXPECT_EQ(first_id(explained(kRaised, run)), "ValueError: no shard 19");
  EXPECT_EQ(explained(kRaised, run).confidence, Confidence::kHigh);
  const std::string of_gpu =
      "[n2:1] Traceback (most recent call last):\n[n2:1]   File \"train.py\", line 57, in f\n"
      "[n2:1] RuntimeError: CUDA did something odd\n";
  EXPECT_EQ(first_id(explained(of_gpu, run)), xid);
  EXPECT_EQ(explained(of_gpu, run).confidence, Confidence::kMedium);
  run.first_failed_pid = 57;
  EXPECT_EQ(explained(of_gpu, run).confidence, Confidence::kMedium);
  run.first_failed_pid = 5;  // the driver's message names this process
  EXPECT_EQ(first_id(explained(of_gpu, run)), xid);
  EXPECT_EQ(explained(of_gpu, run).confidence, Confidence::kHigh);
}

TEST(RunEvidence, OfAGpuInTheKernelsLogDoesNotComeBeforeMemoryThatIsTooSmall) {
  RunKnowledge run = killed_by(0);
  run.fatal_signal.reset();
  run.kernel = kernel_log("n2", "NVRM: Xid (PCI:0000:18:00): 79, pid=5, GPU has fallen off\n");
  const Explanation found = explained(
      "[n2:1] Traceback (most recent call last):\n[n2:1]   File \"train.py\", line 57, in f\n"
      "[n2:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
      run);
  EXPECT_EQ(first_id(found), "cuda-oom-one-rank");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

// PyTorch aborts the process when its watchdog sees an NCCL error.
TEST(RunEvidence, OfAGpuInTheKernelsLogComesBeforeAnAbort) {
  RunKnowledge run = killed_by(SIGABRT);
  run.kernel = kernel_log("n2", "NVRM: Xid (PCI:0000:18:00): 79, pid=5, GPU has fallen off\n");
  const Explanation found = explained("", run);
  ASSERT_EQ(found.causes.size(), 2U);
  EXPECT_EQ(first_id(found), "gpu-lost");
  EXPECT_EQ(found.causes[1].failure->id, "rank-aborted");
  EXPECT_EQ(found.confidence, Confidence::kMedium);
}

TEST(RunEvidence, LinesOfTheKernelHaveNoLabels) {
  const Evidence found = kernel_log("n2", "nvme0n1: I/O error, dev nvme0n1, sector 5\n");
  ASSERT_FALSE(found.failures.empty());
  for (const SeenFailure& seen : found.failures) {
    EXPECT_EQ(seen.hosts, std::set<std::string>{"n2"}) << seen.failure->id;
  }
}

TEST(RunEvidence, OfTheChecksRaisesConfidence) {
  const std::string two =
      "[n2:1] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9), "
      "error: No space left on device\n" +
      kRaised;
  EXPECT_EQ(explained(two).confidence, Confidence::kMedium);
  const Explanation found = explained(two, with_finding("nccl-dev-shm-full", false, {"n2"}));
  EXPECT_EQ(first_id(found), "nccl-dev-shm-full");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  EXPECT_NE(full_text(found, 80).find("  before     check found it before the run: it\n"),
            std::string::npos);
  EXPECT_EQ(explained(two, with_finding("nccl-dev-shm-full", false, {"n1"})).confidence,
            Confidence::kMedium);
}

TEST(RunEvidence, OfTheChecksIsAPossibleCauseIfNothingElseIs) {
  const Explanation warned = explained("", with_finding("nccl-dev-shm-full", false));
  EXPECT_EQ(first_id(warned), "nccl-dev-shm-full");
  EXPECT_EQ(warned.confidence, Confidence::kLow);
  const Explanation forced = explained("", with_finding("nccl-dev-shm-full", true));
  EXPECT_EQ(forced.confidence, Confidence::kMedium);
  EXPECT_EQ(forced.causes[0].text, "check found before the run: it");
  EXPECT_EQ(first_id(explained(kRaised, with_finding("nccl-dev-shm-full", true))),
            "ValueError: no shard 19");
  RunKnowledge stopped = with_finding("nccl-dev-shm-full", true);
  // SIGUSR1 neither confirms nor contradicts the finding.
  stopped.fatal_signal = FatalSignal{.signal = SIGUSR1};
  EXPECT_EQ(explained("", stopped).confidence, Confidence::kMedium);
  EXPECT_EQ(first_id(explained("", with_finding("nccl-dev-shm-full", true, {"n1"}))), "none");
  EXPECT_EQ(first_id(explained("", with_finding("no-such-failure", true))), "none");
}

TEST(RunEvidence, OfTheChecksRaisesTheConfidenceOnlyOfWhatTheyFound) {
  const std::string mild = "[n2:1] Starting store with 4096 workers but somaxconn is 128\n";
  EXPECT_EQ(explained(mild).confidence, Confidence::kLow);
  const Explanation found = explained(mild, with_finding("somaxconn-too-small", false));
  EXPECT_EQ(found.confidence, Confidence::kMedium);
  EXPECT_EQ(found.reason, "the checks found it before the run too, but it may be harmless");
  const std::string closed =
      "[n1:0] RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection "
      "closed by peer [198.18.1.2]:33218\n";
  EXPECT_EQ(explained(mild + closed, with_finding("gloo-peer-closed", false)).confidence,
            Confidence::kLow);
}

}  // namespace
}  // namespace muster::explain
