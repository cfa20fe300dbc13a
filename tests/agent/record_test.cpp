#include "agent/record.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

const RankStart kStart{.rank = 3,
                       .local_rank = 1,
                       .size = 4,
                       .program = {.pid = 11, .start = 18446744073709551615U},
                       .shim = {.pid = 10, .start = 99},
                       .daemon = {.pid = 9, .start = 98},
                       .time_s = 1700000000.123456,
                       .remarks = {"kept", "as \"it\" was"}};

const RankEnd kEnd{.rank = 3,
                   .status = 139,
                   .failure = "cannot run 'x': \"no\"",
                   .time_s = 1700000001.5,
                   .user_s = 0.25,
                   .system_s = 0.125,
                   .max_rss_kb = 1 << 20,
                   .out_bytes = 18446744073709551615U,
                   .err_bytes = 7,
                   .waited_s = 2.5,
                   .left_over = 2,
                   .by_engine = true,
                   .memory_ran_out = true};

// Parses what was written, which must be one line.
Event read_event(const std::string& line) {
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto event = parse_event(line);
  EXPECT_TRUE(event) << to_text(event.error());
  return event.value_or(Event{});
}

TEST(Record, StartComesBack) {
  const Event event = read_event(to_line(kStart));
  ASSERT_TRUE(event.start);
  EXPECT_FALSE(event.end);
  EXPECT_EQ(event.start->rank, kStart.rank);
  EXPECT_EQ(event.start->local_rank, kStart.local_rank);
  EXPECT_EQ(event.start->size, kStart.size);
  EXPECT_EQ(event.start->program, kStart.program);
  EXPECT_EQ(event.start->shim, kStart.shim);
  EXPECT_EQ(event.start->daemon, kStart.daemon);
  EXPECT_EQ(event.start->time_s, kStart.time_s);
  EXPECT_EQ(event.start->remarks, kStart.remarks);
}

TEST(Record, EndComesBack) {
  const Event event = read_event(to_line(kEnd));
  ASSERT_TRUE(event.end);
  EXPECT_FALSE(event.start);
  EXPECT_EQ(event.end->status, kEnd.status);
  EXPECT_EQ(event.end->failure, kEnd.failure);
  EXPECT_EQ(event.end->time_s, kEnd.time_s);
  EXPECT_EQ(event.end->user_s, kEnd.user_s);
  EXPECT_EQ(event.end->system_s, kEnd.system_s);
  EXPECT_EQ(event.end->max_rss_kb, kEnd.max_rss_kb);
  EXPECT_EQ(event.end->out_bytes, kEnd.out_bytes);
  EXPECT_EQ(event.end->err_bytes, kEnd.err_bytes);
  EXPECT_EQ(event.end->waited_s, kEnd.waited_s);
  EXPECT_EQ(event.end->left_over, kEnd.left_over);
  EXPECT_TRUE(event.end->by_engine);
  EXPECT_TRUE(event.end->memory_ran_out);
}

TEST(Record, NameThatIsNoUtf8) {
  EXPECT_TRUE(parse_event(to_line(RankEnd{.failure = "cannot run '\xff\xfe'"})));
}

TEST(Record, HostileLinesAreRefused) {
  const std::string good = to_line(kStart);
  for (std::size_t length = 0; length + 1 < good.size(); ++length) {
    EXPECT_FALSE(parse_event(good.substr(0, length))) << length;
  }
  const auto with = [](std::string line, const std::string& from, const std::string& to) {
    return line.replace(line.find(from), from.size(), to);
  };
  for (const std::string& line :
       {std::string("[]"), std::string("null"), std::string("{}"), std::string(R"({"event":1})"),
        std::string(R"({"event":"other"})"), std::string(R"({"event":"start"})"),
        std::string(70000, ' ') + good, std::string(60000, '['),
        with(good, "\"rank\":3", "\"rank\":-1"), with(good, "\"rank\":3", "\"rank\":3.5"),
        with(good, "\"rank\":3", "\"rank\":\"3\""), with(good, "\"rank\":3", "\"rank\":4294967296"),
        with(good, "\"rank\":3", "\"rank\":18446744073709551615"),
        with(good, "\"rank\":3", "\"rank\":1e999"), with(good, "\"pid\":11", "\"pid\":-11"),
        with(good, "\"pid\":11", "\"pid\":null"), with(good, "\"start\":99", "\"start\":-1"),
        with(good, "\"size\":4", "\"size\":[]")}) {
    const auto event = parse_event(line);
    EXPECT_FALSE(event) << line.substr(0, 100);
    if (!event) {
      EXPECT_LT(event.error().what.size(), 200U);
    }
  }
}

TEST(Record, ErrorIsFitForATerminal) {
  const auto event = parse_event("\x1b[2J");
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().what.find('\x1b'), std::string::npos);
}

TEST(RunFolder, BesideTheBinarysFolder) {
  const auto base = base_folder();
  const auto run = run_folder("2024-01-01_a.B");
  ASSERT_TRUE(base && run);
  EXPECT_EQ(*run, *base + "/runs/2024-01-01_a.B");
}

TEST(RunFolder, RefusesWhatLeadsElsewhere) {
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string(".a"), std::string("a/b"),
        std::string("../a"), std::string("a b"), std::string("a\n"), std::string("\xc3\xa4"),
        std::string("a\0b", 3), std::string(200, 'a')}) {
    EXPECT_FALSE(run_folder(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster::agent
