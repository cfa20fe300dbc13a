#include "cli/run_table.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "hosts/fold.hpp"

namespace muster::cli {
namespace {

namespace column {
enum : std::size_t { kRun, kState, kAge, kDuration, kHosts, kRanks, kAttempts, kCommand, kWhy };
}  // namespace column

constexpr std::size_t kColumns = column::kWhy + 1;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLongestCommand = 40;
constexpr std::size_t kLongestHosts = 24;
constexpr std::size_t kEnoughForWhy = 36;

using Cells = std::array<std::string, kColumns>;
using Widths = std::array<std::size_t, kColumns>;  // 0: the column is omitted

// The columns to shorten or omit on a narrow terminal, in this order, until WHY has enough room.
struct Step {
  std::size_t column;
  std::size_t least;  // 0: the column is omitted
};
constexpr Step kSteps[] = {{column::kCommand, 16}, {column::kAttempts, 0}, {column::kRanks, 0},
                           {column::kDuration, 0}, {column::kHosts, 12},   {column::kCommand, 8},
                           {column::kCommand, 0},  {column::kHosts, 0}};

// The number of characters. In UTF-8 a character can have several bytes.
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

// The width of a line in which WHY has enough room.
std::size_t total_of(const Widths& widths) {
  std::size_t total = std::min(widths[column::kWhy], kEnoughForWhy);
  for (std::size_t i = 0; i < column::kWhy; ++i) total += widths[i] > 0 ? widths[i] + kGap : 0;
  return total;
}

Widths narrowed(const Widths& whole, std::size_t width) {
  Widths widths = whole;
  for (const Step& step : kSteps) {
    const std::size_t total = total_of(widths);
    if (total <= width) break;
    std::size_t& one = widths[step.column];
    one = step.least == 0 ? 0
                          : std::max(std::min(one, step.least), one - std::min(one, total - width));
  }
  const std::size_t total = total_of(widths);
  if (widths[column::kCommand] > 0 && total < width) {
    widths[column::kCommand] =
        std::min(whole[column::kCommand], widths[column::kCommand] + width - total);
  }
  return widths;
}

std::string line_of(const Cells& row, const Widths& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (widths[i] == 0) continue;
    const std::string cell = shortened(row[i], widths[i]);
    line += cell + std::string(widths[i] - width_of(cell) + kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The name by which other commands find the run. A name refers to the newest run with this name, so
// older ones show their id too.
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
  Widths widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  if (width > 0) widths = narrowed(widths, width);
  std::string table;
  for (const Cells& row : rows) {
    const std::string line = line_of(row, widths);
    table += (width > 0 ? shortened(line, width) : line) + "\n";
  }
  return table;
}

}  // namespace muster::cli
