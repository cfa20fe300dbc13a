#include "agent/protocol.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "agent/assignment_fields.hpp"
#include "agent/record_fields.hpp"
#include "base/json_fields.hpp"
#include "base/printable.hpp"
#include "facts/facts_fields.hpp"
#include "facts/kernel_log.hpp"
#include "inspect/inspection_fields.hpp"

namespace muster::sys {

static auto texts_of(Stream) {
  return std::array{std::pair(Stream::kOut, "out"), std::pair(Stream::kErr, "err")};
}

}  // namespace muster::sys

namespace muster::facts {

static auto texts_of(Reached) {
  return std::array{std::pair(Reached::kYes, "yes"),
                    std::pair(Reached::kRefused, "refused"),
                    std::pair(Reached::kTimedOut, "timed out"),
                    std::pair(Reached::kNoRoute, "no route"),
                    std::pair(Reached::kCutOff, "cut off"),
                    std::pair(Reached::kLargeLost, "large lost"),
                    std::pair(Reached::kUntried, "untried")};
}

}  // namespace muster::facts

namespace muster::agent {

static auto texts_of(Order::Kind) {
  using Kind = Order::Kind;
  return std::array{std::pair(Kind::kHello, "hello"),     std::pair(Kind::kPlace, "place"),
                    std::pair(Kind::kBegin, "begin"),     std::pair(Kind::kBeat, "beat"),
                    std::pair(Kind::kEnd, "end"),         std::pair(Kind::kBye, "bye"),
                    std::pair(Kind::kInspect, "inspect"), std::pair(Kind::kTaken, "taken"),
                    std::pair(Kind::kListen, "listen"),   std::pair(Kind::kConnect, "connect"),
                    std::pair(Kind::kClose, "close"),     std::pair(Kind::kSeen, "seen")};
}

static auto texts_of(Report::Kind) {
  using Kind = Report::Kind;
  return std::array{std::pair(Kind::kFacts, "facts"),
                    std::pair(Kind::kReady, "ready"),
                    std::pair(Kind::kBeat, "beat"),
                    std::pair(Kind::kEvent, "event"),
                    std::pair(Kind::kDone, "done"),
                    std::pair(Kind::kFailed, "failed"),
                    std::pair(Kind::kInspection, "inspection"),
                    std::pair(Kind::kOutput, "output"),
                    std::pair(Kind::kKernelLog, "kernel log"),
                    std::pair(Kind::kListening, "listening"),
                    std::pair(Kind::kConnected, "connected")};
}

template <class V>
void fields(V& v, Taken& t) {
  v("rank", t.rank), v("out", t.out), v("err", t.err);
}

template <class V>
void fields(V& v, Waited& w) {
  v("rank", w.rank), v("seconds", w.seconds);
}

template <class V>
void fields(V& v, Endpoint& e) {
  v("address", e.address), v("port", e.port);
}

template <class V>
void fields(V& v, Target& t) {
  v("at", t.at), v("token", t.token);
}

template <class V>
void fields(V& v, Order& o) {
  v("order", o.kind);
  switch (o.kind) {
    case Order::Kind::kHello:
      v("run", o.run_id), v.maybe("request", o.request), v.maybe("earlier", o.earlier);
      break;
    case Order::Kind::kPlace:
      v("placement", o.placement), v("variables", o.variables);
      break;
    case Order::Kind::kBegin:
      v("orphan_after_s", o.orphan_after_s), v("taken", o.taken);
      break;
    case Order::Kind::kTaken:
      v("taken", o.taken);
      break;
    case Order::Kind::kEnd:
      v("grace_s", o.grace_s);
      break;
    case Order::Kind::kBye:
      v("keep", o.keep);
      break;
    case Order::Kind::kListen:
      v("endpoints", o.endpoints), v("token", o.token);
      break;
    case Order::Kind::kConnect:
      v("targets", o.targets);
      break;
    case Order::Kind::kInspect:
      v("inspection", o.inspection);
      break;
    case Order::Kind::kClose:
    case Order::Kind::kSeen:
    case Order::Kind::kBeat:
      break;
  }
}

template <class V>
void fields(V& v, Report& r) {
  v("report", r.kind);
  switch (r.kind) {
    case Report::Kind::kFacts:
      v("facts", r.facts);
      break;
    case Report::Kind::kEvent:
      v("event", r.event);
      break;
    case Report::Kind::kDone:
      v("ended", r.ended);
      break;
    case Report::Kind::kFailed:
      v("text", r.text);
      break;
    case Report::Kind::kBeat:
      v("clock_s", r.clock_s), v.maybe("waited", r.waited);
      break;
    case Report::Kind::kInspection:
      v("inspection", r.inspection), v("view", r.view);
      break;
    case Report::Kind::kOutput:  // only the line; the bytes follow it
      v("rank", r.piece.rank), v("stream", r.piece.stream), v("at", r.piece.at);
      break;
    case Report::Kind::kKernelLog:
      v("lines", r.kernel_log);
      break;
    case Report::Kind::kListening:
      v("ports", r.ports);
      break;
    case Report::Kind::kConnected:
      v("reached", r.reached);
      break;
    case Report::Kind::kReady:
      break;
  }
}

std::string to_line(const Order& order) {
  return json_of_fields(order) + "\n";
}

std::string to_line(const Report& report) {
  const std::string line = json_of_fields(report) + "\n";
  return report.kind == Report::Kind::kOutput ? with_payload(line, report.piece.bytes) : line;
}

Result<Order> parse_order(const std::string& line) {
  return parse_fields<Order>(line, "cannot read the launcher's line", kExactTexts);
}

bool is_report(const Message& message) {
  return message.line.starts_with("{\"report\":");
}

Result<Report> parse_report(const Message& message) {
  const std::string refusal = "cannot read the agent's line";
  MUSTER_TRY(Report report, parse_fields<Report>(message.line, refusal));
  constexpr std::size_t kAround = 256;  // what a report adds to the event in it
  if (report.kind == Report::Kind::kEvent && message.line.size() > kMostEventBytes + kAround) {
    return unexpected(Error{.what = refusal + ": too long"});
  }
  if (report.kind == Report::Kind::kEvent && !is_possible(report.event)) {
    return unexpected(Error{.what = refusal + ": a number is below zero"});
  }
  if (report.kernel_log.size() > facts::kMostKernelLines) {
    return unexpected(Error{.what = refusal + ": too many lines"});
  }
  for (std::string& line : report.kernel_log) {
    line = printable(line.substr(0, facts::kLongestKernelLine));
  }
  // The position after the piece must not overflow either.
  if (report.piece.at > std::numeric_limits<std::uint64_t>::max() - kMaxPayload) {
    return unexpected(Error{.what = refusal + ": a position is impossible"});
  }
  report.piece.bytes = message.payload;
  return report;
}

}  // namespace muster::agent
