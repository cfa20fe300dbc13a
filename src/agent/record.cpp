#include "agent/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"

namespace muster::agent {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestEvent = std::size_t{64} << 10;
constexpr std::size_t kMaxRunId = 128;

json to_json(const ProcessId& process) {
  return {{"pid", process.pid}, {"start", process.start}};
}

// The name of a program need not be UTF-8.
std::string event_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Reads members of one object; the first that is missing or of the wrong type is remembered.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}

  void read(const char* name, int& value) { value = static_cast<int>(integer(name, kMinInt)); }
  void read(const char* name, std::int64_t& value) {
    value = integer(name, std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max());
  }
  void read(const char* name, std::uint64_t& value) {
    const json* member = find(name);
    if (member != nullptr && member->is_number_unsigned()) {
      value = member->get<std::uint64_t>();
    } else {
      complain(name);
    }
  }
  void read(const char* name, double& value) {
    const json* member = find(name);
    if (member != nullptr && member->is_number()) {
      value = member->get<double>();
    } else {
      complain(name);
    }
  }
  void read(const char* name, bool& value) {
    const json* member = find(name);
    if (member != nullptr && member->is_boolean()) {
      value = member->get<bool>();
    } else {
      complain(name);
    }
  }
  void read(const char* name, std::string& value) {
    const json* member = find(name);
    if (member != nullptr && member->is_string()) {
      value = member->get<std::string>();
    } else {
      complain(name);
    }
  }
  void read(const char* name, std::vector<std::string>& values) {
    const json* member = find(name);
    if (member == nullptr || !member->is_array()) return complain(name);
    for (const json& one : *member) {
      if (!one.is_string()) return complain(name);
      values.push_back(one.get<std::string>());
    }
  }
  void read(const char* name, ProcessId& process) {
    const json* member = find(name);
    if (member == nullptr || !member->is_object()) return complain(name);
    Reader inner(*member);
    inner.read("pid", process.pid);
    inner.read("start", process.start);
    if (!inner.wrong_.empty() || process.pid < 0) complain(name);
  }
  void refuse_below_zero(const char* name, int value) {
    if (value < 0) complain(name);
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  static constexpr std::int64_t kMinInt = std::numeric_limits<int>::min();
  static constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

  [[nodiscard]] const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  void complain(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  std::int64_t integer(const char* name, std::int64_t least, std::int64_t most = kMaxInt) {
    const json* member = find(name);
    const bool fits = member != nullptr && member->is_number_integer() &&
                      (!member->is_number_unsigned() ||
                       member->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) &&
                      member->get<std::int64_t>() >= least && member->get<std::int64_t>() <= most;
    if (fits) return member->get<std::int64_t>();
    complain(name);
    return 0;
  }

  const json& object_;
  std::string wrong_;
};

RankStart read_start(Reader& reader) {
  RankStart start;
  reader.read("rank", start.rank);
  reader.read("local_rank", start.local_rank);
  reader.read("size", start.size);
  reader.read("program", start.program);
  reader.read("shim", start.shim);
  reader.read("daemon", start.daemon);
  reader.read("time_s", start.time_s);
  reader.read("remarks", start.remarks);
  reader.refuse_below_zero("rank", start.rank);
  reader.refuse_below_zero("local_rank", start.local_rank);
  reader.refuse_below_zero("size", start.size);
  return start;
}

RankEnd read_end(Reader& reader) {
  RankEnd end;
  reader.read("rank", end.rank);
  reader.read("status", end.status);
  reader.read("failure", end.failure);
  reader.read("time_s", end.time_s);
  reader.read("user_s", end.user_s);
  reader.read("system_s", end.system_s);
  reader.read("max_rss_kb", end.max_rss_kb);
  reader.read("out_bytes", end.out_bytes);
  reader.read("err_bytes", end.err_bytes);
  reader.read("left_over", end.left_over);
  reader.read("by_engine", end.by_engine);
  reader.refuse_below_zero("rank", end.rank);
  reader.refuse_below_zero("left_over", end.left_over);
  return end;
}

Error not_an_event(const std::string& line, std::string_view why) {
  return {.code = ErrorCode::kSystem,
          .what = fmt::format("this is not the record of a rank ({}): {}", why,
                              printable(std::string_view(line).substr(0, 80)))};
}

std::string without_last(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

std::string to_line(const RankStart& start) {
  return event_line({{"event", "start"},
                     {"rank", start.rank},
                     {"local_rank", start.local_rank},
                     {"size", start.size},
                     {"program", to_json(start.program)},
                     {"shim", to_json(start.shim)},
                     {"daemon", to_json(start.daemon)},
                     {"time_s", start.time_s},
                     {"remarks", start.remarks}});
}

std::string to_line(const RankEnd& end) {
  return event_line({{"event", "end"},
                     {"rank", end.rank},
                     {"status", end.status},
                     {"failure", end.failure},
                     {"time_s", end.time_s},
                     {"user_s", end.user_s},
                     {"system_s", end.system_s},
                     {"max_rss_kb", end.max_rss_kb},
                     {"out_bytes", end.out_bytes},
                     {"err_bytes", end.err_bytes},
                     {"left_over", end.left_over},
                     {"by_engine", end.by_engine}});
}

Result<Event> parse_event(const std::string& line) {
  if (line.size() > kLongestEvent) return unexpected(not_an_event(line, "too long"));
  const json value = json::parse(line, nullptr, false);  // no exception: "discarded" instead
  if (!value.is_object()) return unexpected(not_an_event(line, "no JSON object"));
  const auto kind = value.find("event");
  if (kind == value.end() || !kind->is_string()) return unexpected(not_an_event(line, "no event"));
  Reader reader(value);
  Event event;
  if (*kind == "start") {
    event.start = read_start(reader);
  } else if (*kind == "end") {
    event.end = read_end(reader);
  } else {
    return unexpected(not_an_event(line, "unknown event"));
  }
  if (!reader.wrong().empty()) return unexpected(not_an_event(line, reader.wrong()));
  return event;
}

Result<std::string> base_folder() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) return unexpected(system_error("cannot find the running binary"));
  const std::string base =
      without_last(without_last(std::string(path.data(), static_cast<std::size_t>(length))));
  if (base.empty()) {
    return unexpected(
        Error{.what = "the path of muster's own binary has fewer than two directories"});
  }
  return base;
}

Result<std::string> run_folder(const std::string& run_id) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  const bool good = !run_id.empty() && run_id.size() <= kMaxRunId && run_id.front() != '.' &&
                    std::all_of(run_id.begin(), run_id.end(), allowed);
  if (!good) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what =
            fmt::format("'{}' cannot be the id of a run", printable(run_id.substr(0, kMaxRunId))),
        .hint =
            "a run id consists of letters, digits, '.', '_' and '-', and does not begin with '.'"});
  }
  MUSTER_TRY(const std::string base, base_folder());
  return base + "/runs/" + run_id;
}

}  // namespace muster::agent
