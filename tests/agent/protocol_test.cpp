#include "agent/protocol.hpp"

#include <gtest/gtest.h>

#include "facts/kernel_log.hpp"

namespace muster::agent {
namespace {

// Sends the report through a connection and returns what arrives.
Result<Report> read_back(const Report& report) {
  Inbox inbox;
  inbox.add(to_line(report));
  const auto message = inbox.next();
  return message ? parse_report(*message) : unexpected(Error{});
}

TEST(Protocol, OrdersAreReadBack) {
  Order hello{.kind = Order::Kind::kHello, .run_id = "r1"};
  hello.request = facts::Request{.host = "n1", .activate = "source 'x'\n", .program = "./a \"b\""};
  const auto again = parse_order(to_line(hello));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->run_id, "r1");
  ASSERT_TRUE(again->request);
  EXPECT_EQ(again->request->activate, "source 'x'\n");
  EXPECT_EQ(again->request->program, "./a \"b\"");
  const Order rejoin{.kind = Order::Kind::kHello, .run_id = "r1"};
  EXPECT_FALSE(parse_order(to_line(rejoin))->request);
  EXPECT_TRUE(parse_order(to_line(rejoin))->earlier.empty());
  const Order later{.kind = Order::Kind::kHello, .run_id = "r1.2", .earlier = {"r1", "r1.1"}};
  EXPECT_EQ(parse_order(to_line(later))->earlier, (std::vector<std::string>{"r1", "r1.1"}));
  const Inspection inspection{
      .number = 3, .window_ms = 200, .sample_every_ms = 50, .stacks = false};
  EXPECT_EQ(parse_order(to_line(Order{.kind = Order::Kind::kInspect, .inspection = inspection}))
                ->inspection,
            inspection);
  const Order begin{.kind = Order::Kind::kBegin, .orphan_after_s = 7};
  EXPECT_EQ(parse_order(to_line(begin))->orphan_after_s, 7);
  const Order end{.kind = Order::Kind::kEnd, .grace_s = 1.5};
  EXPECT_EQ(parse_order(to_line(end))->grace_s, 1.5);
  const Order bye{.kind = Order::Kind::kBye, .keep = true};
  EXPECT_TRUE(parse_order(to_line(bye))->keep);
}

TEST(Protocol, TheConnectionTestIsReadBack) {
  const Order listen{.kind = Order::Kind::kListen,
                     .endpoints = {{.address = "198.18.0.1", .port = 29500}},
                     .token = "secret"};
  EXPECT_EQ(parse_order(to_line(listen))->endpoints, listen.endpoints);
  EXPECT_EQ(parse_order(to_line(listen))->token, "secret");
  const Order connect{
      .kind = Order::Kind::kConnect,
      .targets = {{.at = {.address = "fd00::1", .port = 40000}, .token = "secret"}}};
  EXPECT_EQ(parse_order(to_line(connect))->targets, connect.targets);
  const Report listening{.kind = Report::Kind::kListening, .ports = {40000, 0}};
  EXPECT_EQ(read_back(listening)->ports, listening.ports);
  using facts::Reached;
  const Report connected{
      .kind = Report::Kind::kConnected,
      .reached = {Reached::kYes, Reached::kRefused, Reached::kTimedOut, Reached::kNoRoute,
                  Reached::kCutOff, Reached::kLargeLost, Reached::kUntried}};
  EXPECT_EQ(read_back(connected)->reached, connected.reached);
  for (const char* wrong :
       {R"({"report":"connected","reached":["maybe"]})", R"({"report":"connected","reached":[1]})",
        R"({"report":"listening","ports":["22"]})",
        R"({"report":"listening","ports":[99999999999]})"}) {
    EXPECT_FALSE(parse_report({.line = wrong})) << wrong;
  }
}

TEST(Protocol, ReportsAreReadBack) {
  Report facts{.kind = Report::Kind::kFacts};
  facts.facts.hostname = "n\"1";
  EXPECT_EQ(read_back(facts)->facts.hostname, "n\"1");
  const Report event{.kind = Report::Kind::kEvent,
                     .event = {.start = std::nullopt, .end = RankEnd{.rank = 3, .status = 768}}};
  const auto again = read_back(event);
  ASSERT_TRUE(again && again->event.end);
  EXPECT_EQ(again->event.end->rank, 3);
  EXPECT_EQ(again->event.end->status, 768);
  const Report done{.kind = Report::Kind::kDone, .ended = 4};
  EXPECT_EQ(read_back(done)->ended, 4);
  const Report inspection{.kind = Report::Kind::kInspection,
                          .inspection = 7,
                          .view = {.ranks = {{.rank = 3, .places = {"train.py:57 load_shard"}}}}};
  EXPECT_EQ(read_back(inspection)->inspection, 7);
  EXPECT_EQ(read_back(inspection)->view, inspection.view);
  const Report kernel{.kind = Report::Kind::kKernelLog, .kernel_log = {"oom-kill: x"}};
  EXPECT_EQ(read_back(kernel)->kernel_log, kernel.kernel_log);
  const Report beat{.kind = Report::Kind::kBeat, .clock_s = 12.25};
  EXPECT_EQ(read_back(beat)->clock_s, 12.25);
}

TEST(Protocol, NoTextOfAReportCanControlATerminal) {
  const std::string raw = "\x1b[2J\r\u009b";
  const std::string clean = "?[2J??";
  EXPECT_EQ(read_back(Report{.kind = Report::Kind::kFailed, .text = raw})->text, clean);
  const Report inspection{.kind = Report::Kind::kInspection,
                          .view = {.ranks = {{.places = {raw}}}, .not_seen = {raw}}};
  EXPECT_EQ(read_back(inspection)->view.ranks[0].places[0], clean);
  EXPECT_EQ(read_back(inspection)->view.not_seen[0], clean);
  const Report kernel{.kind = Report::Kind::kKernelLog,
                      .kernel_log = {raw, std::string(100'000, 'x')}};
  EXPECT_EQ(read_back(kernel)->kernel_log[0], clean);
  EXPECT_EQ(read_back(kernel)->kernel_log[1].size(), facts::kLongestKernelLine);
  const Report many{.kind = Report::Kind::kKernelLog,
                    .kernel_log = std::vector<std::string>(facts::kMostKernelLines + 1)};
  EXPECT_FALSE(read_back(many));
  const RankStart start{.remarks = {raw}};
  const Report started{.kind = Report::Kind::kEvent, .event = {.start = start, .end = {}}};
  EXPECT_EQ(read_back(started)->event.start->remarks, std::vector<std::string>{clean});
  const Report ended{.kind = Report::Kind::kEvent,
                     .event = {.start = {}, .end = RankEnd{.failure = raw}}};
  EXPECT_EQ(read_back(ended)->event.end->failure, clean);
}

TEST(Protocol, OrdersAreCarriedOutAsTheyAre) {
  Order order{.kind = Order::Kind::kHello, .run_id = "r", .request = facts::Request{}};
  order.request->activate = "a=$'\x1b'\nexport a\n";
  EXPECT_EQ(parse_order(to_line(order))->request->activate, order.request->activate);
}

TEST(Protocol, OutputKeepsItsBytesAndItsPlace) {
  const std::string bytes("a\nb\0c\xff", 6);
  const auto again = read_back(
      {.kind = Report::Kind::kOutput,
       .piece = {.rank = 7, .stream = sys::Stream::kErr, .at = 1ULL << 40, .bytes = bytes}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->piece.rank, 7);
  EXPECT_EQ(again->piece.stream, sys::Stream::kErr);
  EXPECT_EQ(again->piece.at, 1ULL << 40);
  EXPECT_EQ(again->piece.bytes, bytes);
}

TEST(Protocol, WhatWasTakenIsReadBack) {
  const std::vector<Taken> taken = {{.rank = 0, .out = 5, .err = 1ULL << 50}, {.rank = 9}};
  EXPECT_EQ(parse_order(to_line(Order{.kind = Order::Kind::kTaken, .taken = taken}))->taken, taken);
  EXPECT_EQ(parse_order(to_line(Order{.kind = Order::Kind::kBegin, .taken = taken}))->taken, taken);
}

TEST(Protocol, PlacementIsReadBack) {
  const Order place{.kind = Order::Kind::kPlace,
                    .placement = {.interface = "eth0", .host_rank = 2, .ranks = 3},
                    .variables = {"A=\"b\"\n", "C="}};
  const auto again = parse_order(to_line(place));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->placement, place.placement);
  EXPECT_EQ(again->variables, place.variables);
}

TEST(Protocol, OneMessageIsOneLine) {
  Report failed{.kind = Report::Kind::kFailed, .text = "two\nlines \xff"};
  const std::string line = to_line(failed);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Protocol, HostileLinesAreRefusedNotObeyed) {
  for (const char* line :
       {"", "{", "null", "[]", "{}", "{\"order\":3}", "{\"order\":\"dance\"}",
        "{\"order\":\"hello\"}", "{\"order\":\"begin\",\"orphan_after_s\":\"soon\"}",
        "{\"order\":\"end\"}", "{\"order\":\"hello\",\"run\":\"r\",\"request\":\"[]\"}",
        "{\"order\":\"hello\",\"run\":\"r\",\"request\":{}}", "{\"order\":\"bye\",\"keep\":1}",
        "{\"order\":\"taken\",\"taken\":[[0,1,2]]}", "{\"order\":\"hello\",\"run\":\"\xff\"}"}) {
    EXPECT_FALSE(parse_order(line)) << line;
  }
  for (const char* line :
       {"Welcome to n1!", "{\"report\":\"facts\",\"facts\":\"{}\"}", "{\"report\":\"event\"}",
        "{\"report\":\"event\",\"event\":\"{}\"}", "{\"report\":\"event\",\"event\":{}}",
        "{\"report\":\"facts\",\"facts\":{}}", "{\"report\":\"done\",\"ended\":\"x\"}",
        "{\"report\":\"inspection\",\"inspection\":1,\"view\":{}}",
        "{\"report\":\"output\",\"rank\":0}",
        "{\"report\":\"output\",\"rank\":0,\"stream\":\"in\",\"at\":0}",
        "{\"report\":\"output\",\"rank\":0,\"stream\":\"out\",\"at\":\"x\"}",
        "{\"report\":\"output\",\"rank\":0,\"stream\":\"out\",\"at\":18446744073709551615}"}) {
    EXPECT_FALSE(parse_report({.line = line, .payload = {}})) << line;
  }
  const Report impossible{.kind = Report::Kind::kEvent,
                          .event = {.start = std::nullopt, .end = RankEnd{.rank = -1}}};
  EXPECT_FALSE(read_back(impossible));
  EXPECT_FALSE(parse_report({.line = std::string(1'000'000, '['), .payload = {}}));
}

}  // namespace
}  // namespace muster::agent
