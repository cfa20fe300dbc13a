#include "inspect/flight_record.hpp"

#include <gtest/gtest.h>

namespace muster::inspect {
namespace {

// From PyTorch 2.13 with Gloo, without the first entries: rank 0 waits in its 7th all_reduce.
constexpr const char* kWaiting = R"({"comm_lib_version":"","entries":[
{"collective_seq_id":5,"input_dtypes":["Float"],"input_sizes":[[1000]],"is_p2p":false,"op_id":5,
"output_dtypes":["Float"],"output_sizes":[[1000]],"p2p_seq_id":0,"pg_id":0,"process_group":["0",
"default_pg"],"profiling_name":"gloo:all_reduce","record_id":4,"retired":true,
"state":"scheduled","thread_id":"140567053034176","thread_name":"python",
"time_created_ns":1795070902173692645,"time_discovered_completed_ns":0,
"time_discovered_started_ns":0,"timeout_ms":1800000},
{"collective_seq_id":6,"input_dtypes":[],"input_sizes":[],"is_p2p":false,"op_id":6,
"output_dtypes":[],"output_sizes":[],"p2p_seq_id":0,"pg_id":0,"process_group":["0","default_pg"],
"profiling_name":"gloo:barrier","record_id":5,"retired":true,"state":"scheduled",
"thread_id":"140567053034176","thread_name":"python","time_created_ns":1795070902174004252,
"time_discovered_completed_ns":0,"time_discovered_started_ns":0,"timeout_ms":1800000},
{"collective_seq_id":1,"input_dtypes":["Float"],"input_sizes":[[1000]],"is_p2p":false,"op_id":1,
"output_dtypes":["Float"],"output_sizes":[[1000]],"p2p_seq_id":0,"pg_id":1,"process_group":["1",
"undefined"],"profiling_name":"gloo:broadcast","record_id":6,"retired":true,"state":"scheduled",
"thread_id":"140567053034176","thread_name":"python","time_created_ns":1795070902174399734,
"time_discovered_completed_ns":0,"time_discovered_started_ns":0,"timeout_ms":1800000},
{"collective_seq_id":7,"input_dtypes":["Float"],"input_sizes":[[1000]],"is_p2p":false,"op_id":8,
"output_dtypes":["Float"],"output_sizes":[[1000]],"p2p_seq_id":0,"pg_id":0,"process_group":["0",
"default_pg"],"profiling_name":"gloo:all_reduce","record_id":7,"retired":false,
"state":"scheduled","thread_id":"140567053034176","thread_name":"python",
"time_created_ns":1795070902177474054,"time_discovered_completed_ns":0,
"time_discovered_started_ns":0,"timeout_ms":1800000}],
"nccl_comm_state":{},"pg_config":{"":{"desc":"","name":"","ranks":"[]"}},
"pg_status":{"0":{"last_completed_collective":"6","last_enqueued_collective":"8",
"last_started_collective":"-1"},"1":{"last_completed_collective":"1",
"last_enqueued_collective":"1","last_started_collective":"-1"}},"version":"2.10"})";
constexpr double kNow = 1795070912.0;

TEST(FlightRecord, TellsTheGroupsOfPyTorch) {
  const auto groups = parse_flight_record(kWaiting, kNow);
  ASSERT_TRUE(groups) << groups.error().what;
  ASSERT_EQ(groups->size(), 2U);
  const Group& all = groups->at(0);
  EXPECT_EQ(all.name, "0");
  EXPECT_EQ(all.description, "default_pg");
  EXPECT_EQ(all.backend, "gloo");
  EXPECT_EQ(all.ranks, std::vector<int>());
  EXPECT_EQ(all.begun, 7);
  EXPECT_EQ(all.done, 6);
  EXPECT_NEAR(all.longest_gap_s, 0.0035, 0.0001);
  ASSERT_EQ(all.operations.size(), 3U);
  EXPECT_EQ(all.operations[1].name, "barrier");
  EXPECT_EQ(all.operations[1].sizes, "");
  EXPECT_TRUE(all.operations[1].done);
  const Operation& last = all.operations[2];
  EXPECT_EQ(last.name, "all_reduce");
  EXPECT_EQ(last.number, 7);
  EXPECT_EQ(last.sizes, "[[1000]]");
  EXPECT_EQ(last.types, "float32");
  EXPECT_NEAR(last.age_s, 9.82, 0.01);
  EXPECT_EQ(last.timeout_s, 1800);
  EXPECT_FALSE(last.done);
  EXPECT_EQ(groups->at(1).name, "1");
  EXPECT_EQ(groups->at(1).begun, 1);
  EXPECT_EQ(groups->at(1).done, 1);
  EXPECT_TRUE(tells_unfinished(kWaiting));
}

// A record of muster's own backend, which knows the members of all groups.
constexpr const char* kOwn = R"({"entries":[
{"collective_seq_id":1,"input_dtypes":["Long","Half"],"input_sizes":[[2,3],[]],
 "is_p2p":false,"pg_id":9,"process_group":["1","undefined"],"profiling_name":"mpi:all_gather",
 "retired":true,"time_created_ns":1795070902000000000,"timeout_ms":600000}],
"pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[0, 1]"},
             "1":{"desc":"tensor_parallel","name":"1","ranks":"[0, 1]"},
             "2":{"desc":"other","name":"2","ranks":"[1]"}}})";

TEST(FlightRecord, TakesTheMembersFromAnotherRecord) {
  const auto torch = parse_flight_record(kWaiting, kNow);
  const auto own = parse_flight_record(kOwn, kNow);
  ASSERT_TRUE(torch && own);
  const std::vector<Group> groups = merge_groups(std::vector{*torch, *own});
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(groups[0].begun, 7);
  EXPECT_EQ(groups[1].name + groups[1].backend, "1gloo");
  EXPECT_EQ(groups[1].description, "tensor_parallel");
  EXPECT_EQ(groups[2].name + groups[2].backend, "1mpi");
  ASSERT_EQ(groups[2].operations.size(), 1U);
  EXPECT_EQ(groups[2].operations[0].types, "int64, float16");
  EXPECT_EQ(groups[2].operations[0].sizes, "[[2, 3], []]");
  EXPECT_EQ(groups[3].name, "2");
  EXPECT_EQ(groups[3].begun, 0);
  EXPECT_EQ(groups[3].ranks, std::vector<int>{1});
}

// tests/recorder/operations_test.cpp has the same text, without the times.
TEST(FlightRecord, TellsTheGroupsOfOurOwnBackend) {
  const auto groups = parse_flight_record(
      R"({"entries":[)"
      R"({"collective_seq_id":1,"p2p_seq_id":0,"input_dtypes":["Float"],"input_sizes":[[2,3]],)"
      R"("is_p2p":false,"pg_id":0,"process_group":["0","default_pg"],)"
      R"("profiling_name":"mpi:broadcast","retired":true,"state":"completed",)"
      R"("time_created_ns":1795070902000000000,"timeout_ms":600000},)"
      R"({"collective_seq_id":2,"p2p_seq_id":0,"input_dtypes":["Float","Half"],)"
      R"("input_sizes":[[],[4]],"is_p2p":false,"pg_id":0,"process_group":["0","default_pg"],)"
      R"("profiling_name":"mpi:all_gather","retired":false,"state":"started",)"
      R"("time_created_ns":1795070903000000000,"timeout_ms":600000},)"
      R"({"collective_seq_id":1,"p2p_seq_id":1,"input_dtypes":[],"input_sizes":[],"is_p2p":true,)"
      R"("pg_id":0,"process_group":["0","default_pg"],"profiling_name":"mpi:send","retired":true,)"
      R"("state":"completed","time_created_ns":1795070902500000000,"timeout_ms":0}],)"
      R"("pg_config":{"mpi/2":{"desc":"undefined","name":"mpi/2","ranks":"[3, 1]"},)"
      R"("0":{"desc":"default_pg","name":"0","ranks":"[0, 1]"}},)"
      R"("pg_status":{"1":{"last_completed_collective":"0","last_enqueued_collective":"0"},)"
      R"("0":{"last_completed_collective":"1","last_enqueued_collective":"2"}}})",
      kNow);
  ASSERT_TRUE(groups) << groups.error().what;
  ASSERT_EQ(groups->size(), 2U);
  const Group& all = groups->at(0);
  EXPECT_EQ(all.name + " " + all.description + " " + all.backend, "0 default_pg mpi");
  EXPECT_EQ(all.ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(all.begun, 2);
  EXPECT_EQ(all.done, 1);
  ASSERT_EQ(all.operations.size(), 2U);
  const Operation& last = all.operations[1];
  EXPECT_EQ(last.name, "all_gather");
  EXPECT_EQ(last.sizes, "[[], [4]]");
  EXPECT_EQ(last.types, "float32, float16");
  EXPECT_EQ(last.age_s, 9);
  EXPECT_EQ(last.timeout_s, 600);
  EXPECT_FALSE(last.done);
  EXPECT_EQ(groups->at(1).name, "mpi/2");
  EXPECT_EQ(groups->at(1).ranks, (std::vector<int>{3, 1}));
  EXPECT_EQ(groups->at(1).begun, 0);
}

std::string entry(int number, bool retired, const char* more = "") {
  return R"({"process_group":["0","d"],"profiling_name":"nccl:all_reduce","pg_id":4,)"
         R"("collective_seq_id":)" +
         std::to_string(number) + R"(,"retired":)" + (retired ? "true" : "false") + more + "}";
}

std::string record_of(const std::string& entries, const std::string& more = "") {
  return R"({"entries":[)" + entries + "]" + more + "}";
}

TEST(FlightRecord, CountsUpToTheFirstUnfinishedOne) {
  const auto groups =
      parse_flight_record(record_of(entry(9, true) + "," + entry(8, false) + "," + entry(7, true) +
                                    "," + entry(10, false, R"(,"state":"completed")")),
                          kNow);
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ(groups->at(0).begun, 10);
  EXPECT_EQ(groups->at(0).done, 7);
}

TEST(FlightRecord, LeavesOutPointToPoint) {
  const auto groups =
      parse_flight_record(record_of(entry(3, false, R"(,"is_p2p":true)"),
                                    R"(,"pg_status":{"4":{"last_enqueued_collective":"12",
                   "last_completed_collective":"11"},"5":{"last_enqueued_collective":"99"}})"),
                          kNow);
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_TRUE(groups->at(0).operations.empty());
  EXPECT_EQ(groups->at(0).begun, 12);  // without entries, there is no better number
  EXPECT_EQ(groups->at(0).done, 11);
}

TEST(FlightRecord, KeepsTheLatestAndWhatIsNotDone) {
  std::string entries = entry(1, false);
  for (int i = 2; i <= 100; ++i) entries += "," + entry(i, true);
  const auto groups = parse_flight_record(record_of(entries), kNow);
  ASSERT_TRUE(groups);
  const auto& operations = groups->at(0).operations;
  ASSERT_EQ(operations.size(), kMostOperations + 1);
  EXPECT_EQ(operations[0].number, 1);
  EXPECT_EQ(operations[1].number, 77);
  EXPECT_EQ(groups->at(0).done, 0);
}

TEST(FlightRecord, ToleratesAnyText) {
  for (const char* text : {"{}", "[]", R"({"entries":{}})", R"({"entries":[1,{},null]})",
                           R"({"entries":[{"process_group":[7]}]})",
                           R"({"pg_config":{"":{"ranks":"[]"}},"pg_status":[]})"}) {
    const auto groups = parse_flight_record(text, kNow);
    ASSERT_TRUE(groups) << text;
    EXPECT_TRUE(groups->empty()) << text;
  }
  EXPECT_FALSE(parse_flight_record("no JSON", kNow));
  const auto groups = parse_flight_record(
      R"({"entries":[{"process_group":["0","a\u001b[1m"],"collective_seq_id":18446744073709551615,
          "profiling_name":7,"input_sizes":[[{}]],"time_created_ns":-1}],
          "pg_config":{"0":{"ranks":"[-1]"}}})",
      kNow);
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ(groups->at(0).description, "a?[1m");
  EXPECT_EQ(groups->at(0).begun, 0);
}

TEST(FlightRecord, RemembersTheCountsOfTheFirstLook) {
  std::vector<Group> now = {{.name = "0", .backend = "gloo", .begun = 9, .done = 8},
                            {.name = "1", .backend = "gloo", .begun = 3, .done = 3}};
  set_before(now, std::vector<Group>{{.name = "0", .backend = "gloo", .begun = 7, .done = 6}});
  EXPECT_EQ(now[0].begun_before, 7);
  EXPECT_EQ(now[0].done_before, 6);
  EXPECT_EQ(now[1].begun_before, 0);
}

}  // namespace
}  // namespace muster::inspect
