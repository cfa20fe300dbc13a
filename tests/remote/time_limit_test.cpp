#include "remote/time_limit.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "remote/outcome.hpp"
#include "sys/file.hpp"
#include "sys/random.hpp"

namespace muster::remote {
namespace {

constexpr std::chrono::seconds kLong{600};
constexpr std::chrono::seconds kShort{3};

// Returns the number of processes with the mark. A process that is exiting no longer has one.
int marked(const std::string& id) {
  int count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.find("MUSTER_EXEC=" + id) != std::string::npos) ++count;
  }
  return count;
}

struct Limited {
  std::string id;
  Outcome outcome;

  Limited(const std::string& line, std::chrono::seconds limit, const std::string& shell = "bash",
          std::string mark = sys::random_hex(8))
      : id(std::move(mark)) {
    outcome = read_limited({"n1", sys::run({.argv = {shell, "-c", limited_line(line, limit, id)},
                                            .env = {"SHELL=" + shell},
                                            .deadline = std::chrono::minutes(5)})},
                           id);
  }
  [[nodiscard]] const sys::Ended& ended() const { return *outcome.ended; }
};

TEST(TimeLimit, ACommandThatEndsInTimeIsUntouched) {
  const Limited run("printf 'a\\\\b  it'\"'\"'s\\n'; echo err >&2; exit 7", kLong);
  EXPECT_FALSE(run.ended().timed_out);
  EXPECT_EQ(run.ended().code, 7);
  EXPECT_EQ(run.ended().out, "a\\b  it's\n");
  EXPECT_EQ(run.ended().err, "err\n");
}

TEST(TimeLimit, ACommandMayEndWithTheCodesOfATimeLimit) {
  for (const int code : {kEnded, kLeft}) {
    const Limited run("printf err >&2; exit " + std::to_string(code), kLong);
    EXPECT_FALSE(run.ended().timed_out);
    EXPECT_EQ(run.ended().code, code);
    EXPECT_EQ(run.ended().err, "err");
  }
}

TEST(TimeLimit, SeveralWordsReachTheProgramUnchanged) {
  const std::vector<std::string> words = {"printf", "%s\n", "a  b", "$HOME;", "it's", "\\n"};
  EXPECT_EQ(Limited(command_line(words), kLong).ended().out, "a  b\n$HOME;\nit's\n\\n\n");
}

TEST(TimeLimit, TheLoginShellMayBeFish) {
  if (!sys::run({.argv = {"fish", "--version"}})) GTEST_SKIP() << "fish is not installed";
  const Limited run("set greeting it\\'s; echo $greeting 'a\\b'; exit 7", kLong, "fish");
  EXPECT_EQ(run.ended().out, "it's a\\b\n") << run.ended().err;
  EXPECT_EQ(run.ended().code, 7);
  EXPECT_TRUE(Limited("sleep 1000", kShort, "fish").ended().timed_out);
}

TEST(TimeLimit, AProcessOfAnotherCallIsLeftAlone) {
  const std::string id = sys::random_hex(8);
  // The other process's mark begins with the command's mark.
  const auto other = sys::run({.argv = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"},
                               .env = {"MUSTER_EXEC=" + id + "0"}});
  ASSERT_TRUE(other);
  EXPECT_TRUE(Limited("sleep 1000", kShort, "bash", id).ended().timed_out);
  EXPECT_EQ(marked(id), 1);
  EXPECT_EQ(::kill(std::stoi(other->out), SIGKILL), 0);
}

class LateCommand : public testing::TestWithParam<const char*> {};

TEST_P(LateCommand, IsEndedWithAllThatItStarted) {
  const Limited run(std::string("echo before; ") + GetParam(), kShort);
  EXPECT_TRUE(run.ended().timed_out) << run.ended().code << run.ended().err;
  EXPECT_EQ(run.ended().code, kEnded);
  EXPECT_EQ(run.ended().out, "before\n");  // earlier output is kept
  EXPECT_EQ(marked(run.id), 0);
}

INSTANTIATE_TEST_SUITE_P(
    TimeLimit, LateCommand,
    testing::Values("exec sleep 1000", "sleep 1000 & sleep 1000; echo after",
                    "setsid sleep 1000 & wait",
                    "sleep 1000 & exit 3",  // it keeps the output open, so ssh would wait for it
                    "trap '' TERM; while :; do sleep 1000; done"));

TEST(TimeLimit, TheShellThatKeepsItPrintsNothing) {
  const Limited run("exec sleep 1000", kShort);
  EXPECT_TRUE(run.ended().timed_out);
  EXPECT_EQ(run.ended().err, "");
}

TEST(TimeLimit, AProcessWithoutTheMarkIsFoundAsADescendant) {
  // A process that has ended may still wait for its parent to reap it.
  const auto alive = [](const std::string& pid) {
    const auto stat = sys::read_file("/proc/" + pid + "/stat", 4096);
    return stat && stat->find(") Z ") == std::string::npos;
  };
  const Limited run("env -i sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done'; true",
                    kShort);
  ASSERT_TRUE(run.ended().timed_out);
  const std::string pid = run.ended().out.substr(0, run.ended().out.find('\n'));
  ASSERT_FALSE(pid.empty());
  EXPECT_FALSE(alive(pid)) << pid;
}

TEST(TimeLimit, AServerThatWasStartedInTheBackgroundStays) {
  const Limited run("sleep 1000 >/dev/null 2>&1 & echo $!; exit 3", kLong);
  EXPECT_FALSE(run.ended().timed_out);
  EXPECT_EQ(run.ended().code, 3);
  EXPECT_EQ(marked(run.id), 1);
  EXPECT_EQ(::kill(std::stoi(run.ended().out), SIGKILL), 0);
}

TEST(TimeLimit, AHostThatWasLateIsReported) {
  Outcome late{"n1", sys::Ended{.code = kEnded, .out = "so far"}};
  late = read_limited(late, "id");
  EXPECT_EQ(conclusion({&late, 1}).failure, ErrorCode::kTimeout);
  const std::string text = failures_text({&late, 1});
  EXPECT_NE(text.find("n1: the time limit passed; muster ended the command"), std::string::npos)
      << text;
  EXPECT_NE(to_json(late).find(R"("timed_out":true)"), std::string::npos) << to_json(late);
  EXPECT_NE(to_json(late).find(R"("out":"so far")"), std::string::npos);
  Outcome left{"n1", sys::Ended{.code = kLeft}};
  left = read_limited(left, "id");
  EXPECT_NE(failures_text({&left, 1}).find("could not end all processes"), std::string::npos);
}

}  // namespace
}  // namespace muster::remote
