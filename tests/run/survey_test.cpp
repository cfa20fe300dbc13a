// The survey: hosts that answer late, twice, never, out of order or with garbage.
#include <map>

#include <gtest/gtest.h>
#include <malloc.h>

#include "run/push.hpp"
#include "scene.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

SceneEnd survey(Scene& scene) {
  scene.engine.starts_nothing = true;
  scene.engine.dies_after_s = 0.01;
  return scene.play();
}

const Error& error_of(const SceneEnd& end, std::size_t host) {
  return end.surveys.at(host).facts.error();
}

TEST(Survey, AHostThatAnswersLateButInTimeIsTaken) {
  Scene scene(3);
  scene.hosts[1].behaviour.answers_after_s = 14.9;
  const SceneEnd end = survey(scene);
  EXPECT_TRUE(end.started);
  EXPECT_NEAR(end.survey_s, 14.9, 0.1);
}

TEST(Survey, AHostThatAnswersTooLateIsNamedAndNothingOfItIsTakenLater) {
  Scene scene(3);
  scene.hosts[1].behaviour.answers_after_s = 15.1;
  const SceneEnd end = survey(scene);
  EXPECT_FALSE(end.started);
  EXPECT_TRUE(end.surveys[0].facts && end.surveys[2].facts);
  EXPECT_EQ(error_of(end, 1).what, "no answer within 15 s");
  EXPECT_EQ(error_of(end, 1).where.host, "n2");
  EXPECT_EQ(end.surveys[1].failure_id, "host-silent");
  EXPECT_NEAR(end.survey_s, 15, 0.1);
}

TEST(Survey, AHostThatIsReachedButHasNoFactsIsToldFromASilentOne) {
  Scene scene(3);
  scene.hosts[2].behaviour.leaves_out = {Point::kFacts};
  const SceneEnd end = survey(scene);
  EXPECT_EQ(end.surveys[2].failure_id, "facts-not-gathered");
  EXPECT_NE(error_of(end, 2).what.find("did not report its facts"), std::string::npos);
}

TEST(Survey, AHostThatSaysEverythingTwiceIsCountedOnce) {
  Scene scene(3);
  for (std::size_t i = 0; i < 3; ++i) scene.hosts[i].behaviour.twice = true;
  scene.hosts[2].behaviour.answers_after_s = 3;  // the survey must wait for this host
  const SceneEnd end = survey(scene);
  EXPECT_TRUE(end.started);
  EXPECT_GE(end.survey_s, 3);
}

TEST(Survey, FactsBeforeTheFirstBeatAreFine) {
  Scene scene(1);
  scene.hosts[0].behaviour.leaves_out = {Point::kBeat};
  EXPECT_TRUE(survey(scene).started);
}

TEST(Survey, ClocksAreComparedToTheRoundTrip) {
  Scene scene(2);
  scene.crew.compare_clocks = true;
  scene.hosts[1].behaviour.answers_after_s = 0.5;
  const SceneEnd end = survey(scene);
  EXPECT_LT(end.surveys[0].clock_doubt_s, 0.02);
  EXPECT_NEAR(end.surveys[1].clock_doubt_s, 0.25, 0.01);
}

// A host's shell may print anything before and between messages.
struct Garbage {
  const char* name;
  std::string bytes;
};

class Noise : public testing::TestWithParam<Garbage> {};

TEST_P(Noise, BeforeTheFactsIsPassedOver) {
  Scene scene(3);
  scene.hosts[1].behaviour.says = {{Point::kHello, GetParam().bytes}};
  const SceneEnd end = survey(scene);
  EXPECT_TRUE(end.started);
  EXPECT_LT(end.survey_s, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Survey, Noise,
    testing::Values(
        Garbage{"banner", "Welcome to n2!\n\n*** 3 updates ***\n"},
        Garbage{"invalid_utf8", "\xff\xfe\x80\n{\"report\":\"failed\",\"text\":\"\xc3\"}\n"},
        Garbage{"truncated_json", "{\"report\":\"facts\",\"facts\":\"{\n"},
        Garbage{"unknown_report", "{\"report\":\"of another version\",\"x\":[1,2]}\n"},
        Garbage{"facts_of_another_version", "{\"report\":\"facts\",\"facts\":\"{\\\"v\\\":9}\"}\n"},
        Garbage{"no_text", std::string(3, '\0') + "\n"},
        Garbage{"wrong_types", "{\"report\":\"beat\",\"clock_s\":\"soon\"}\n[]\n7\nnull\n"},
        Garbage{"deep", std::string(1 << 16, '[') + "\n"}),
    [](const auto& given) { return given.param.name; });

class Poison : public testing::TestWithParam<Garbage> {};

TEST_P(Poison, EndsTheSessionWithThatHostOnly) {
  Scene scene(3);
  scene.hosts[1].behaviour.says = {{Point::kHello, GetParam().bytes}};
  const SceneEnd end = survey(scene);
  EXPECT_FALSE(end.started);
  EXPECT_TRUE(end.surveys[0].facts && end.surveys[2].facts);
  ASSERT_FALSE(end.surveys[1].facts);
  EXPECT_EQ(error_of(end, 1).where.host, "n2");
  EXPECT_NE(error_of(end, 1).what.find("cannot read"), std::string::npos) << error_of(end, 1).what;
  EXPECT_LT(end.survey_s, 1);
}

INSTANTIATE_TEST_SUITE_P(Survey, Poison,
                         testing::Values(Garbage{"endless_line",
                                                 std::string((std::size_t{8} << 20) + 1, 'x')},
                                         Garbage{"huge_payload",
                                                 "\x1e"
                                                 "999999999 {}\n"},
                                         Garbage{"no_length",
                                                 "\x1e"
                                                 "many {}\n"}),
                         [](const auto& given) { return given.param.name; });

TEST(Survey, FactsThatCannotBeReadAreGivenAsTheReason) {
  Scene scene(3);
  scene.hosts[1].behaviour.says = {{Point::kBeat, "{\"report\":\"facts\",\"facts\":{}}\n"}};
  scene.hosts[1].behaviour.leaves_out = {Point::kFacts};
  const SceneEnd end = survey(scene);
  ASSERT_FALSE(end.surveys[1].facts);
  EXPECT_NE(error_of(end, 1).what.find("cannot use what it reports"), std::string::npos)
      << error_of(end, 1).what;
}

TEST(Survey, AnAgentThatFailsSaysWhyEvenIfItThenHangs) {
  Scene scene(3);
  scene.hosts[1].behaviour.says = {
      {Point::kBeat, "{\"report\":\"failed\",\"text\":\"no space left\"}\n"}};
  scene.hosts[1].behaviour.leaves_out = {Point::kFacts};
  const SceneEnd end = survey(scene);
  EXPECT_FALSE(end.started);
  EXPECT_EQ(error_of(end, 1).what, "no space left");
  EXPECT_LT(end.survey_s, 1);
}

TEST(Survey, AMissingBinaryIsBroughtOnceAndOnlyWhereItIsMissing) {
  Scene scene(3);
  scene.hosts[1].behaviour.shell_code = kNotThere;
  const SceneEnd end = survey(scene);
  EXPECT_TRUE(end.started);
  EXPECT_EQ(scene.hosts.pushed, 1);
  EXPECT_EQ(scene.hosts[1].sessions(), 2);
}

// Two builds, as files, and hosts that have neither.
class MixedHosts : public sys::FolderTest {
 protected:
  [[nodiscard]] Build build(const char* machine, const std::string& bytes) const {
    const std::string path = folder_ + "/muster-" + machine;
    EXPECT_TRUE(sys::write_file(path, bytes, 0755));
    return {.machine = machine,
            .path = path,
            .binary = Binary{.hash = sys::hash_text(bytes), .bytes = bytes.size()}};
  }
  void lacks_muster(FakeHost& host, const std::string& says) const {
    host.behaviour.shell_code = kNotThere;
    host.behaviour.shell_says = says;
  }
};

TEST_F(MixedHosts, EachGetsTheBuildForItsMachine) {
  Scene scene(4);
  scene.crew.builds = {build("x86_64", "ours"), build("aarch64", "the other")};
  lacks_muster(scene.hosts[0], "muster-machine x86_64\n");
  lacks_muster(scene.hosts[1], "Welcome to n2\nmuster-machine aarch64\n");
  lacks_muster(scene.hosts[2], "muster-machine arm64\n");
  lacks_muster(scene.hosts[3], "");  // the host has no uname, so it does not name its architecture
  const SceneEnd end = survey(scene);
  EXPECT_TRUE(end.started);
  const std::map<std::string, std::string> expected = {
      {"n1", "ours"}, {"n2", "the other"}, {"n3", "the other"}, {"n4", "ours"}};
  EXPECT_EQ(scene.hosts.pushed_bytes, expected);
}

TEST_F(MixedHosts, AHostForWhichThereIsNoBuildIsNamedAndTheOthersAreServed) {
  Scene scene(3);
  scene.crew.builds = {build("x86_64", "ours"),
                       {.machine = "aarch64",
                        .path = "/usr/libexec/muster/muster-aarch64",
                        .binary = unexpected(Error{.what = "cannot open the file"})}};
  lacks_muster(scene.hosts[0], "muster-machine x86_64\n");
  lacks_muster(scene.hosts[1], "muster-machine aarch64\n");
  lacks_muster(scene.hosts[2], "muster-machine riscv64\n");
  const SceneEnd end = survey(scene);
  EXPECT_FALSE(end.started);
  EXPECT_TRUE(end.surveys[0].facts);
  EXPECT_EQ(scene.hosts.pushed, 1);
  ASSERT_TRUE(!end.surveys[1].facts && !end.surveys[2].facts);
  EXPECT_EQ(error_of(end, 1).where.host, "n2");
  EXPECT_NE(error_of(end, 1).what.find("aarch64"), std::string::npos) << error_of(end, 1).what;
  EXPECT_NE(error_of(end, 1).hint.find("/usr/libexec/muster/muster-aarch64"), std::string::npos);
  EXPECT_NE(error_of(end, 2).what.find("riscv64"), std::string::npos) << error_of(end, 2).what;
}

TEST(Survey, ABinaryThatCannotBeBroughtIsSaidWithTheHostsOwnWords) {
  Scene scene(3);
  scene.hosts[2].behaviour.shell_code = kNotThere;
  scene.hosts[2].behaviour.program_missing = "/bin/sh: 5: cannot create x: Read-only file system\n";
  const SceneEnd end = survey(scene);
  EXPECT_FALSE(end.started);
  EXPECT_TRUE(end.surveys[0].facts && end.surveys[1].facts);
  EXPECT_NE(error_of(end, 2).what.find("Read-only file system"), std::string::npos);
}

TEST(Survey, AUserWhoMayStartNoProcessIsToldWhereTheLimitIs) {
  Scene scene(2);
  scene.hosts[1].behaviour.shell_code = kNotThere;
  scene.hosts[1].behaviour.program_missing = "/bin/sh: 2: Cannot fork\n";
  const SceneEnd end = survey(scene);
  EXPECT_NE(error_of(end, 1).hint.find("ssh n2 ulimit -u"), std::string::npos);
  EXPECT_EQ(error_of(end, 1).hint.find("noexec"), std::string::npos);
}

TEST(Survey, ALoginShellThatEndsInSilenceIsNamed) {
  Scene scene(2);
  scene.hosts[0].behaviour.shell_code = 42;
  const SceneEnd end = survey(scene);
  EXPECT_EQ(error_of(end, 0).what,
            "the login shell of the host ended with exit code 42 before it started muster");
  EXPECT_NE(error_of(end, 0).hint.find("ssh n1 true"), std::string::npos);
}

TEST(Survey, ManySilentHostsCostTheirDeadlineOnce) {
  Scene scene(64);
  for (std::size_t i = 0; i < 64; ++i) scene.hosts[i].behaviour.gone_at = Point::kHello;
  EXPECT_LT(survey(scene).survey_s, 16);
}

std::size_t allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The facts of a thousand hosts take more memory than everything else in the launcher.
TEST(Survey, TheCrewKeepsNoCopyOfTheFacts) {
  constexpr int kHosts = 20;
  constexpr std::size_t kFactsBytes = 100'000;
  FakeLoop loop;
  FakeHosts hosts(loop, kHosts);
  hosts.tell({.kernel = std::string(kFactsBytes, 'x')});
  Crew crew(loop, hosts, hosts.names(),
            {.deadline = std::chrono::seconds(15), .for_facts = std::chrono::seconds(15)});
  const std::size_t before = allocated();
  std::vector<facts::Survey> surveys = crew.survey();
  ASSERT_EQ(surveys.back().facts->kernel.size(), kFactsBytes);
  surveys.clear();
  EXPECT_LT(allocated(), before + kHosts * kFactsBytes / 2);
}

}  // namespace
}  // namespace muster::run
