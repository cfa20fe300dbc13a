#include "recorder/operations.hpp"

#include <regex>
#include <thread>

#include <gtest/gtest.h>

namespace muster::recorder {
namespace {

using Sizes = std::vector<std::int64_t>;

Begun collective(std::uint64_t number, const char* name = "all_reduce", const Sizes& sizes = {10}) {
  Begun begun{.name = name, .number = number, .timeout = std::chrono::minutes(10)};
  begun.inputs.add("Float", sizes);
  return begun;
}

Begun message(const char* name) {
  return {.name = name, .is_message = true};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// tests/inspect/flight_record_test.cpp parses the same text.
TEST(Operations, AreWrittenAsPyTorchWritesThem) {
  Operations operations("mpi");
  const auto all = operations.add("mpi/1", {0, 1});
  const auto pair = operations.add("mpi/2", {3, 1});
  all->set_name("0");
  all->set_description("default_pg");
  all->end(all->begin(collective(1, "broadcast", {2, 3})));
  all->end(all->begin(message("send")));
  Begun gathered = collective(2, "all_gather", {});
  gathered.inputs.add("Half", Sizes{4});
  all->begin(gathered);
  const std::string json =
      std::regex_replace(operations.json(false), std::regex("\"time_created_ns\":[0-9]{19},"), "");
  EXPECT_EQ(
      json,
      R"({"entries":[)"
      R"({"collective_seq_id":1,"p2p_seq_id":0,"input_dtypes":["Float"],"input_sizes":[[2,3]],)"
      R"("is_p2p":false,"pg_id":0,"process_group":["0","default_pg"],)"
      R"("profiling_name":"mpi:broadcast","retired":true,"state":"completed","timeout_ms":600000},)"
      R"({"collective_seq_id":2,"p2p_seq_id":0,"input_dtypes":["Float","Half"],)"
      R"("input_sizes":[[],[4]],"is_p2p":false,"pg_id":0,"process_group":["0","default_pg"],)"
      R"("profiling_name":"mpi:all_gather","retired":false,"state":"started","timeout_ms":600000},)"
      R"({"collective_seq_id":1,"p2p_seq_id":1,"input_dtypes":[],"input_sizes":[],"is_p2p":true,)"
      R"("pg_id":0,"process_group":["0","default_pg"],"profiling_name":"mpi:send","retired":true,)"
      R"("state":"completed","timeout_ms":0}],)"
      R"("pg_config":{"mpi/2":{"desc":"undefined","name":"mpi/2","ranks":"[3, 1]"},)"
      R"("0":{"desc":"default_pg","name":"0","ranks":"[0, 1]"}},)"
      R"("pg_status":{"1":{"last_completed_collective":"0","last_enqueued_collective":"0"},)"
      R"("0":{"last_completed_collective":"1","last_enqueued_collective":"2"}}})");
  const std::string active = operations.json(true);
  EXPECT_EQ(count(active, "\"pg_id\""), 1U);
  EXPECT_EQ(count(active, "\"retired\":false"), 1U);
  EXPECT_NE(active.find("all_gather"), std::string::npos);
}

TEST(Operations, AreKeptForEachGroupByItself) {
  Operations operations("mpi");
  const auto quiet = operations.add("quiet", {0});
  const auto busy = operations.add("busy", {0});
  quiet->begin(collective(1, "barrier"));
  busy->begin(message("recv"));
  const Ticket early = busy->begin(collective(1));
  for (std::uint64_t i = 2; i <= 1000; ++i) busy->end(busy->begin(collective(i)));
  busy->end(early);  // no longer kept by now
  busy->end({});
  const std::string json = operations.json(false);
  EXPECT_EQ(count(json, "mpi:all_reduce"), kCollectivesKept);
  EXPECT_EQ(count(json, "mpi:recv"), 1U);
  EXPECT_EQ(count(json, "mpi:barrier"), 1U);
  EXPECT_EQ(count(json, "\"collective_seq_id\":936,"), 0U);
  EXPECT_EQ(count(json, "\"collective_seq_id\":937,"), 1U);
  EXPECT_EQ(count(json, "\"collective_seq_id\":1000,"), 1U);
  EXPECT_EQ(count(json, "\"last_completed_collective\":\"1000\""), 1U);
}

TEST(Operations, TakeNoMoreSizesThanThereIsRoomFor) {
  Inputs many;
  for (int i = 0; i < 9; ++i) many.add("Long", Sizes{i});
  EXPECT_EQ(many.sizes_text(), "[[0],[1],[2],[3]]");
  EXPECT_EQ(many.types_text(), R"(["Long","Long","Long","Long"])");
  Inputs deep;
  deep.add("Int", Sizes{1, 2, 3, 4, 5, 6, 7});
  deep.add("Bool", Sizes{5, 6});
  deep.add("Bool", Sizes{1});
  EXPECT_EQ(deep.sizes_text(), "[[1,2,3,4,5,6,7],[30]]");
  EXPECT_EQ(deep.types_text(), R"(["Int","Bool"])");
}

TEST(Operations, SurviveAnyName) {
  Operations operations("mpi");
  const auto group = operations.add("first", {0});
  group->set_name("");
  EXPECT_EQ(count(operations.json(false), "\"first\""), 2U);
  group->set_name("a\"\\\n\xff");
  EXPECT_EQ(count(operations.json(false), R"("a\"\\??":{)"), 1U);
}

TEST(Operations, ForgetGroupsThatAreGone) {
  Operations operations("mpi");
  auto first = operations.add("0", {0});
  first->end(first->begin(collective(7)));
  first.reset();
  EXPECT_EQ(count(operations.json(false), "all_reduce"), 1U);
  const auto again = operations.add("0", {0});  // counts from 1 again
  EXPECT_EQ(count(operations.json(false), "all_reduce"), 0U);
  std::vector<std::shared_ptr<GroupRecord>> living;
  while (auto group = operations.add("g" + std::to_string(living.size()), {0}))
    living.push_back(group);
  EXPECT_EQ(living.size(), kGroupsKept - 1);
  living.pop_back();
  EXPECT_NE(operations.add("new", {0}), nullptr);
}

TEST(Operations, AreToldWhileOthersBegin) {
  Operations operations("mpi");
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([group = operations.add("g" + std::to_string(i), {0, 1})] {
      for (std::uint64_t number = 1; number <= 3000; ++number) {
        const Ticket ticket = group->begin(collective(number));
        group->set_description("d");
        group->end(ticket);
      }
    });
  }
  for (int i = 0; i < 30; ++i) EXPECT_LE(count(operations.json(false), "\"retired\":false"), 2U);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count(operations.json(true), "retired"), 0U);
}

}  // namespace
}  // namespace muster::recorder
