#include "remote/outcome.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "remote/diagnose.hpp"
#include "sys/process.hpp"

namespace muster::remote {
namespace {

Outcome ended(std::string host, int code) {
  return {std::move(host), sys::Ended{.code = code}};
}

Outcome refused(const std::string& host) {
  return {host, unexpected(unreachable(
                    host, "ssh: connect to host " + host + " port 22: Connection refused\n"))};
}

Outcome late(const std::string& host) {
  return {host, unexpected(Error{.code = ErrorCode::kTimeout, .what = "no answer"})};
}

TEST(Conclusion, TheHighestCodeOfTheHosts) {
  const std::vector<Outcome> outcomes = {ended("n1", 0), ended("n2", 139), ended("n3", 3)};
  EXPECT_FALSE(conclusion(outcomes).failure.has_value());
  EXPECT_EQ(conclusion(outcomes).code, 139);
  EXPECT_EQ(conclusion(std::vector<Outcome>{ended("n1", 0)}).code, 0);
}

TEST(Conclusion, AHostNotReachedComesBeforeADeadlineAndBothBeforeCodes) {
  EXPECT_EQ(conclusion(std::vector<Outcome>{late("n1"), refused("n2"), ended("n3", 3)}).failure,
            ErrorCode::kUnreachable);
  EXPECT_EQ(conclusion(std::vector<Outcome>{ended("n3", 3), late("n1")}).failure,
            ErrorCode::kTimeout);
}

TEST(Failures, AreFoldedByReasonWithWhatToDo) {
  const std::vector<Outcome> outcomes = {ended("n1", 3), refused("n2"), refused("n3"),
                                         ended("n4", 0), ended("n5", 128 + SIGSEGV)};
  const std::string text = failures_text(outcomes);
  EXPECT_EQ(text.find("muster: 4 of 5 hosts failed\n"), 0U) << text;
  EXPECT_NE(text.find("n[2-3] (2 hosts): nothing listens on its ssh port\n    hint: start sshd"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("connect to host n2 port 22"), std::string::npos) << text;
  EXPECT_NE(text.find("n1: exit code 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("n5: exit code 139: signal 11 (Segmentation fault)"), std::string::npos);
  EXPECT_EQ(text.find("n4"), std::string::npos) << text;
}

TEST(Failures, OutputThatWasDroppedIsOne) {
  Outcome cut = ended("n1", 0);
  cut.ended->dropped = 1'200'000;
  const std::vector<Outcome> outcomes = {cut, ended("n2", 0)};
  EXPECT_EQ(conclusion(outcomes).failure, ErrorCode::kSystem);
  const std::string text = failures_text(outcomes);
  EXPECT_NE(text.find("n1: its output is incomplete"), std::string::npos) << text;
  EXPECT_NE(text.find("dropped 1.2 MB\n    hint: write the output to a file"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(cut))["dropped_bytes"], 1'200'000);
}

TEST(Failures, AreNotMentionedWhenThereAreNone) {
  EXPECT_EQ(failures_text(std::vector<Outcome>{ended("n1", 0)}), "");
}

TEST(Json, OneObjectAHostAlsoForBytesThatAreNoText) {
  Outcome outcome = ended("n1", 139);
  outcome.ended->out = "a\xff\n";
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["host"], "n1");
  EXPECT_EQ(json["code"], 139);
  EXPECT_EQ(json["signal"], 11);
  EXPECT_EQ(to_json(outcome).find('\n'), std::string::npos);
  const auto lost = nlohmann::json::parse(to_json(refused("n2")));
  EXPECT_EQ(lost["error"], "nothing listens on its ssh port");
  EXPECT_FALSE(lost.contains("code"));
}

sys::Ended run_line(const std::vector<std::string>& words) {
  return sys::run({.argv = {"bash", "-c", command_line(words)}}).value_or(sys::Ended{.code = 99});
}

TEST(CommandLine, OneWordIsALineForTheShellAndSeveralAreQuoted) {
  EXPECT_EQ(run_line({"echo a; echo b | wc -l"}).out, "a\n1\n");
  EXPECT_EQ(run_line({"printf", "%s\n", "a b", "$HOME;", "it's"}).out, "a b\n$HOME;\nit's\n");
}

TEST(CommandLine, ASignalBecomesACodeBecauseSshTellsNone) {
  EXPECT_EQ(run_line({"python3", "-c", "import os; os.kill(os.getpid(), 11)"}).code, 139);
  EXPECT_EQ(run_line({"sh", "-c", "exit 7"}).code, 7);
}

}  // namespace
}  // namespace muster::remote
