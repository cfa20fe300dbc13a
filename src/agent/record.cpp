#include "agent/record.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "agent/record_fields.hpp"
#include "base/json_fields.hpp"
#include "base/printable.hpp"

namespace muster::agent {
namespace {

constexpr JsonLimits kEventLimits{.bytes = kMostEventBytes};
constexpr std::size_t kMaxRunId = 128;

bool counts_are_possible(const RankStart& start) {
  return start.rank >= 0 && start.local_rank >= 0 && start.size >= 0 && start.program.pid >= 0 &&
         start.shim.pid >= 0 && start.daemon.pid >= 0;
}

bool counts_are_possible(const RankEnd& end) {
  return end.rank >= 0 && end.left_over >= 0 && end.waited_s >= 0;
}

std::string without_last(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

std::string to_line(const RankStart& start) {
  return sorted_json_of_fields(Event{.start = start, .end = std::nullopt}) + "\n";
}

std::string to_line(const RankEnd& end) {
  return sorted_json_of_fields(Event{.start = std::nullopt, .end = end}) + "\n";
}

bool is_possible(const Event& event) {
  return (!event.start || counts_are_possible(*event.start)) &&
         (!event.end || counts_are_possible(*event.end));
}

Result<Event> parse_event(const std::string& line) {
  auto event = read_fields<Event>(line, kEventLimits);
  if (event && is_possible(*event)) return event;
  return unexpected(Error{.what = fmt::format("this is not the record of a rank ({}): {}",
                                              event ? "a number is below zero" : event.error().what,
                                              printable(std::string_view(line).substr(0, 80)))});
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
