#include "agent/protocol.hpp"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace muster::agent {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kOrders = {"hello", "place", "begin", "beat",
                                                     "end",   "bye",   "look",  "taken"};
constexpr std::array<std::string_view, 8> kReports = {"facts", "ready",  "beat",  "event",
                                                      "done",  "failed", "looks", "output"};
constexpr std::string_view kOutName = "out";
constexpr std::string_view kErrName = "err";

Error malformed(const char* whose, const std::string& why) {
  return {.what = std::string("cannot read the ") + whose + "'s line: " + why};
}

template <std::size_t kCount>
int index_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names.at(i) == name) return static_cast<int>(i);
  }
  throw std::invalid_argument("unknown kind '" + name.substr(0, 40) + "'");
}

std::string line_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json taken_json(const std::vector<Taken>& taken) {
  json list = json::array();
  for (const Taken& one : taken) list.push_back({one.rank, one.out, one.err});
  return list;
}

std::vector<Taken> read_taken(const json& list) {
  std::vector<Taken> taken;
  for (const json& one : list) {
    taken.push_back({.rank = one.at(0).get<int>(),
                     .out = one.at(1).get<std::uint64_t>(),
                     .err = one.at(2).get<std::uint64_t>()});
  }
  return taken;
}

// The values that have a JSON form of their own travel as text inside ours: their modules parse
// them.
Order read_order(const json& value) {
  Order order;
  order.kind = static_cast<Order::Kind>(index_of(kOrders, value.at("order").get<std::string>()));
  switch (order.kind) {
    case Order::Kind::kHello: {
      order.run_id = value.at("run").get<std::string>();
      if (value.contains("earlier")) value.at("earlier").get_to(order.earlier);
      if (!value.contains("request")) break;
      auto request = facts::parse_request(value.at("request").get<std::string>());
      if (!request) throw std::invalid_argument(request.error().what);
      order.request = *std::move(request);
      break;
    }
    case Order::Kind::kPlace: {
      const auto placement = parse_placement(value.at("placement").get<std::string>());
      if (!placement) throw std::invalid_argument("no placement");
      order.placement = *placement;
      value.at("variables").get_to(order.variables);
      break;
    }
    case Order::Kind::kBegin:
      order.orphan_after_s = value.at("orphan_after_s").get<double>();
      order.taken = read_taken(value.at("taken"));
      break;
    case Order::Kind::kTaken:
      order.taken = read_taken(value.at("taken"));
      break;
    case Order::Kind::kEnd:
      order.grace_s = value.at("grace_s").get<double>();
      break;
    case Order::Kind::kBye:
      order.keep = value.at("keep").get<bool>();
      break;
    case Order::Kind::kBeat:
    case Order::Kind::kLook:
      break;
  }
  return order;
}

Report read_report(const json& value) {
  Report report;
  report.kind =
      static_cast<Report::Kind>(index_of(kReports, value.at("report").get<std::string>()));
  switch (report.kind) {
    case Report::Kind::kFacts: {
      auto facts = facts::parse_facts(value.at("facts").get<std::string>());
      if (!facts) throw std::invalid_argument(facts.error().what);
      report.facts = *std::move(facts);
      break;
    }
    case Report::Kind::kEvent: {
      auto event = parse_event(value.at("event").get<std::string>());
      if (!event) throw std::invalid_argument(event.error().what);
      report.event = *std::move(event);
      break;
    }
    case Report::Kind::kDone:
      report.ended = value.at("ended").get<int>();
      break;
    case Report::Kind::kFailed:
      report.text = value.at("text").get<std::string>();
      break;
    case Report::Kind::kBeat:
      report.clock_s = value.at("clock_s").get<double>();
      break;
    case Report::Kind::kLooks:
      for (const json& look : value.at("looks")) {
        report.looks.push_back({.rank = look.at("rank").get<int>(),
                                .state = look.at("state").get<std::string>(),
                                .waits_in = look.at("waits_in").get<std::string>(),
                                .cpu_s = look.at("cpu_s").get<double>()});
      }
      break;
    case Report::Kind::kOutput: {
      const std::string stream = value.at("stream").get<std::string>();
      if (stream != kOutName && stream != kErrName) throw std::invalid_argument("no stream");
      report.piece = {.rank = value.at("rank").get<int>(),
                      .stream = stream == kOutName ? sys::Stream::kOut : sys::Stream::kErr,
                      .at = value.at("at").get<std::uint64_t>()};
      break;
    }
    case Report::Kind::kReady:
      break;
  }
  return report;
}

}  // namespace

std::string to_line(const Order& order) {
  json value = {{"order", kOrders.at(static_cast<std::size_t>(order.kind))}};
  if (order.kind == Order::Kind::kHello) {
    value["run"] = order.run_id;
    if (order.request) value["request"] = facts::to_json(*order.request);
    if (!order.earlier.empty()) value["earlier"] = order.earlier;
  } else if (order.kind == Order::Kind::kPlace) {
    value["placement"] = to_json(order.placement);
    value["variables"] = order.variables;
  } else if (order.kind == Order::Kind::kBegin) {
    value["orphan_after_s"] = order.orphan_after_s;
    value["taken"] = taken_json(order.taken);
  } else if (order.kind == Order::Kind::kTaken) {
    value["taken"] = taken_json(order.taken);
  } else if (order.kind == Order::Kind::kEnd) {
    value["grace_s"] = order.grace_s;
  } else if (order.kind == Order::Kind::kBye) {
    value["keep"] = order.keep;
  }
  return line_of(value);
}

std::string to_line(const Report& report) {
  json value = {{"report", kReports.at(static_cast<std::size_t>(report.kind))}};
  if (report.kind == Report::Kind::kFacts) {
    value["facts"] = facts::to_json(report.facts);
  } else if (report.kind == Report::Kind::kEvent) {
    value["event"] = report.event.start ? to_line(*report.event.start) : to_line(*report.event.end);
  } else if (report.kind == Report::Kind::kDone) {
    value["ended"] = report.ended;
  } else if (report.kind == Report::Kind::kBeat) {
    value["clock_s"] = report.clock_s;
  } else if (report.kind == Report::Kind::kFailed) {
    value["text"] = report.text;
  } else if (report.kind == Report::Kind::kLooks) {
    value["looks"] = json::array();
    for (const RankLook& look : report.looks) {
      value["looks"].push_back({{"rank", look.rank},
                                {"state", look.state},
                                {"waits_in", look.waits_in},
                                {"cpu_s", look.cpu_s}});
    }
  } else if (report.kind == Report::Kind::kOutput) {
    value["rank"] = report.piece.rank;
    value["stream"] = report.piece.stream == sys::Stream::kOut ? kOutName : kErrName;
    value["at"] = report.piece.at;
    return with_payload(line_of(value), report.piece.bytes);
  }
  return line_of(value);
}

Result<Order> parse_order(const std::string& line) {
  try {
    return read_order(json::parse(line));
  } catch (const std::exception& error) {
    return unexpected(malformed("launcher", error.what()));
  }
}

Result<Report> parse_report(const Message& message) {
  try {
    Report report = read_report(json::parse(message.line));
    report.piece.bytes = message.payload;
    return report;
  } catch (const std::exception& error) {
    return unexpected(malformed("agent", error.what()));
  }
}

}  // namespace muster::agent
