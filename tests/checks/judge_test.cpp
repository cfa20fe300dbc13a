#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

TEST(Judge, FindsNothingInAGoodCluster) {
  EXPECT_EQ(brief(good_world(1)), "");
  EXPECT_EQ(brief(good_world(4)), "");
  EXPECT_EQ(brief(good_world_with_program(4)), "");
  EXPECT_FALSE(has_errors(judged(good_world(2))));
}

TEST(Judge, PutsErrorsFirstAndHostsInTheClustersOrder) {
  World world = good_world(3);
  std::swap(world.cluster.hosts[0], world.cluster.hosts[2]);  // n3, n2, n1
  for (int number : {1, 3}) world.host(number).own_name_resolves_to = {"127.0.1.1"};
  for (int number : {1, 2, 3}) world.host(number).hostname = "box";
  world.surveys[1].clock_ahead_s = 60;
  for (int number : {1, 3}) world.host(number).ssh_files[0].problem = "bad";
  const auto findings = judged(world);
  EXPECT_EQ(findings.front().id, "clock-skew-elastic");
  EXPECT_TRUE(has_errors(findings));
  EXPECT_EQ(findings[1].id, "ssh-strictmodes-perms");
  EXPECT_EQ(findings[1].hosts, (std::vector<std::string>{"n3", "n1"}));
}

TEST(Judge, NamesEachRuleOnce) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

TEST(Judge, CopesWithThousandsOfHostsThatAreAllDifferent) {
  World world = good_world_with_program(2000);
  for (int number = 1; number <= 2000; ++number) {
    facts::Facts& host = world.host(number);
    host.interfaces[1].addresses = {
        {fmt::format("10.0.{}.{}", number / 250, number % 250 + 1), 16}};
    host.interfaces.push_back(layout::virtual_bridge("docker0", "172.17.0.1"));
    host.program->identity.hash = std::to_string(number);
    host.program->libmpi->hash = std::to_string(number);
    host.cpu.isa.push_back(std::to_string(number));
    host.environment = {.activated = true, .digest = {{"A", std::to_string(number)}}};
    world.surveys[number - 1].clock_ahead_s = number;
  }
  const auto findings = judged(world);
  EXPECT_GT(findings.size(), 7990U);
  const auto notes = static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& one) { return one.severity == Severity::kNote; }));
  ASSERT_EQ(notes, 2U);
  EXPECT_EQ(findings[findings.size() - 2].hosts.size(), 2000U);  // the finding about docker0
}

TEST(FindingJson, IsOneLineAndSurvivesBytesThatAreNoText) {
  const Finding finding{.id = "x",
                        .severity = Severity::kError,
                        .hosts = {"n1"},
                        .what = "a\nb",
                        .evidence = "\xff",
                        .fix = "f"};
  const std::string text = to_json(finding);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto value = nlohmann::json::parse(text);
  EXPECT_EQ(value["severity"], "error");
  EXPECT_EQ(value["hosts"][0], "n1");
  EXPECT_EQ(value["what"], "a\nb");
}

TEST(FindingJson, IsReadBack) {
  for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    const Finding finding{.id = "x",
                          .severity = severity,
                          .hosts = {"n1", "n2"},
                          .what = "w",
                          .evidence = "e",
                          .fix = "f"};
    const auto read = parse_finding(to_json(finding));
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->severity, severity);
    EXPECT_EQ(read->hosts, finding.hosts);
    EXPECT_EQ(to_json(*read), to_json(finding));
  }
  EXPECT_EQ(to_json(Finding{.id = "x", .what = "w"}),
            R"({"evidence":"","fix":"","hosts":[],"id":"x","severity":"warning","what":"w"})");
}

TEST(FindingJson, RefusesWhatIsNoFinding) {
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("null"), std::string(1'000'000, '['),
        std::string(
            R"({"evidence":"","fix":"","hosts":"n1","id":"x","severity":"note","what":""})"),
        std::string(R"({"evidence":"","fix":"","hosts":[],"id":"x","severity":"bad","what":""})"),
        std::string(R"({"evidence":"","fix":"","hosts":[],"id":7,"severity":"note","what":""})"),
        std::string("{\"evidence\":\"\xff\",\"fix\":\"\",\"hosts\":[],\"id\":\"x\","
                    "\"severity\":\"note\",\"what\":\"\"}")}) {
    EXPECT_FALSE(parse_finding(text)) << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace muster::checks
