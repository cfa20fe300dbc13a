#include "cli/run_table.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "hosts/fold.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kColumns = 9;
constexpr std::size_t kLongestCommand = 40;
constexpr std::size_t kLongestHosts = 24;

using Cells = std::array<std::string, kColumns>;

// In characters, which UTF-8 writes in one byte or more.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  constexpr std::string_view kDots = "...";
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && count++ == most - std::min(most, kDots.size())) break;
  }
  return text.substr(0, end) + std::string(kDots.substr(0, most));
}

Cells cells_of(const run::PastRun& run, const std::string& title, double now_s) {
  const bool is_known = run.started_s > 0;
  const bool has_duration = is_known && (run.ended_s || run.state == run::RunState::kRunning);
  return {title,
          state_text(run),
          is_known ? time_text(std::max(now_s - run.started_s, 0.0)) : "",
          has_duration ? time_text(duration_of(run, now_s)) : "",
          run.hosts.empty() ? "" : shortened(hosts::fold(run.hosts), kLongestHosts),
          run.ranks > 0 ? std::to_string(run.ranks) : "",
          std::to_string(run.attempts),
          shortened(run.command, kLongestCommand),
          run.why};
}

// What other commands take for the run. A name means the newest run that has it.
std::string title_of(const run::PastRun& run, std::set<std::string>& newer_names) {
  if (run.name.empty()) return run.id;
  return newer_names.insert(run.name).second ? run.name : fmt::format("{} ({})", run.id, run.name);
}

}  // namespace

std::string time_text(double seconds) {
  constexpr long kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  const long whole = static_cast<long>(seconds);
  if (whole < kMinute) return fmt::format("{}s", whole);
  if (whole < kHour) return fmt::format("{}m{:02}s", whole / kMinute, whole % kMinute);
  if (whole < kDay) return fmt::format("{}h{:02}m", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{}d{:02}h", whole / kDay, whole % kDay / kHour);
}

std::string state_text(const run::PastRun& run) {
  const std::string name = state_name(run.state);
  return run.state == run::RunState::kFailed && run.code ? fmt::format("{} ({})", name, *run.code)
                                                         : name;
}

std::string run_table(std::span<const run::PastRun> runs, double now_s, std::size_t width) {
  std::vector<Cells> rows = {
      {"RUN", "STATE", "AGE", "DURATION", "HOSTS", "RANKS", "ATTEMPTS", "COMMAND", "WHY"}};
  std::set<std::string> names;
  for (const run::PastRun& run : runs) rows.push_back(cells_of(run, title_of(run, names), now_s));
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string table;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      line += row[i] + std::string(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += (width > 0 ? shortened(line, width) : line) + "\n";
  }
  return table;
}

}  // namespace muster::cli
