#include <string>

#include <gtest/gtest.h>

#include "launch/plan.hpp"

namespace muster::launch {
namespace {

const Plan kPlan{.commands = {{.argv = {"ssh", "n1", "a b"}, .host = "n1", .input = false},
                              {.argv = {"mpirun"}}},
                 .env = {"A=1"},
                 .carried = {"PATH"},
                 .files = {{.path = "/hosts", .content = "n1\nn2\n", .mode = 0644}},
                 .notes = {"note"}};

// The format that `run --dry-run --json` prints and every run stores.
constexpr const char* kText =
    R"({"carried":["PATH"],"commands":[{"argv":["ssh","n1","a b"],"host":"n1","input":false},)"
    R"({"argv":["mpirun"],"host":"","input":true}],"env":["A=1"],)"
    R"("files":[{"content":"n1\nn2\n","mode":420,"path":"/hosts"}],"notes":["note"]})";

TEST(PlanJson, IsReadBack) {
  EXPECT_EQ(to_json(kPlan), kText);
  const auto read = parse_plan(kText);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->commands, kPlan.commands);
  EXPECT_EQ(read->env, kPlan.env);
  EXPECT_EQ(read->carried, kPlan.carried);
  EXPECT_EQ(read->files, kPlan.files);
  EXPECT_EQ(read->notes, kPlan.notes);
}

TEST(PlanJson, OfALongCommandLineIsReadBack) {
  const Plan plan{.commands = {{.argv = std::vector<std::string>(100'000, "word")}},
                  .files = {{.path = "/hosts", .content = std::string(1'000'000, 'n')}}};
  const auto read = parse_plan(to_json(plan));
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->commands, plan.commands);
  EXPECT_EQ(read->files, plan.files);
}

TEST(PlanJson, RefusesWhatIsNoPlan) {
  const std::string good = kText;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("7"), std::string("{}"), std::string(1'000'000, '{'), good + "x",
        with("420", "-1"), with("420", "4294967296"), with("\"A=1\"", "{}"), with("false", "0"),
        with("\"note\"", "\"\xc3\""), with("\"env\"", "\"environment\"")}) {
    EXPECT_FALSE(parse_plan(text)) << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace muster::launch
