#include "run/last_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <sys/wait.h>

#include "agent/time_out.hpp"
#include "engines/kind.hpp"
#include "run/record.hpp"

namespace muster::run {
namespace {

constexpr std::array kTimeOuts = {
    std::string_view("Timed out waiting"),                             // Gloo
    std::string_view("Watchdog caught collective operation timeout"),  // NCCL
};

bool has_any(std::string_view text, std::span<const std::string_view> sayings) {
  return std::any_of(sayings.begin(), sayings.end(), [&](std::string_view saying) {
    return text.find(saying) != std::string_view::npos;
  });
}

bool contains(std::string_view text, std::string_view part) {
  return !part.empty() && text.find(part) != std::string_view::npos;
}

// The rank named in a line such as "[n1:00000] *** reported by process [1639514113,0]".
std::optional<int> reporter(const engines::Messages& messages, std::string_view line) {
  if (!contains(line, messages.reporter)) return std::nullopt;
  const std::string_view process =
      line.substr(line.find(messages.reporter) + messages.reporter.size());
  const std::size_t comma = process.find(',');
  const std::size_t end = process.find(']');
  if (end == std::string_view::npos || comma >= end) return std::nullopt;
  int rank = -1;
  const char* const last = process.data() + end;
  const auto [stop, bad] = std::from_chars(process.data() + comma + 1, last, rank);
  return bad == std::errc() && stop == last && rank >= 0 ? std::optional(rank) : std::nullopt;
}

// The number between the last `before` and `after`, if `after` follows that number.
std::optional<long long> code_between(std::string_view text, std::string_view before,
                                      std::string_view after) {
  const std::size_t at = text.rfind(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + before.size());
  long long number = 0;  // may be negative: MPI_Abort(comm, -1) is common
  const auto [stop, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto end = rest.substr(static_cast<std::size_t>(stop - rest.data()));
  return bad == std::errc() && end.starts_with(after) ? std::optional(number) : std::nullopt;
}

// The exit code of a process that called exit(number); nothing if that is 0.
std::optional<int> exit_code(long long number) {
  const int code = static_cast<int>(number & 0xff);
  return code == 0 ? std::nullopt : std::optional(code);
}

// The exit code that a message of this kind of engine names. `lines` must begin with a newline.
std::optional<int> said_abort_code(const engines::Messages& messages, std::string_view lines) {
  for (const engines::AbortMessage& abort : messages.aborts) {
    const std::size_t begin = lines.rfind(abort.begins);
    if (begin == std::string_view::npos) continue;
    const std::string_view said = abort.begins.empty() ? lines : lines.substr(begin);
    if (const auto code = code_between(said, abort.before, abort.after)) return exit_code(*code);
  }
  // MPI can report an error that ends the rank without printing the exit code.
  constexpr int kUnknownCode = 1;
  return contains(lines, messages.error) ? std::optional(kUnknownCode) : std::nullopt;
}

std::optional<int> said_abort_code(std::string_view errors) {
  const std::string lines = "\n" + std::string(errors);
  for (const engines::Kind& kind : engines::all()) {
    if (const auto code = said_abort_code(kind.messages, lines)) return code;
  }
  return std::nullopt;
}

void add_cut_off(const engines::Messages& messages, std::span<const std::string> words,
                 std::set<int>& ranks) {
  bool cut_off = false;
  for (const std::string& line : words) {
    if (contains(line, messages.error)) cut_off = has_any(line, messages.cut_off);
    const auto rank = reporter(messages, line);
    if (rank && std::exchange(cut_off, false)) ranks.insert(*rank);
  }
}

std::vector<std::string> report_on(const engines::Messages& messages,
                                   std::span<const std::string> words, int rank) {
  const auto is_report = [](const std::string& line) { return contains(line, "] *** "); };
  std::vector<std::string> report;
  bool has_rank = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& line = words[i];
    // Help about the error may precede the report. Its lines do not begin with [host:pid].
    const bool is_help = !line.starts_with('[') && line.find_first_not_of('-') != std::string::npos;
    if (is_help || is_report(line)) report.push_back(line);
    has_rank = has_rank || reporter(messages, line) == rank;
    const bool goes_on =
        i + 1 < words.size() && is_report(words[i + 1]) && !contains(words[i + 1], messages.error);
    if (!is_report(line) || goes_on) continue;
    if (has_rank) return report;
    report.clear();
  }
  return {};
}

}  // namespace

bool says_cut_off(std::string_view errors) {
  const auto& kinds = engines::all();
  return agent::says_cut_off(errors) ||
         std::any_of(kinds.begin(), kinds.end(), [&](const engines::Kind& kind) {
           return has_any(errors, kind.messages.cut_off);
         });
}

bool is_last_line(std::string_view line) {
  const auto begins = [&](std::string_view start) { return line.starts_with(start); };
  const auto& kinds = engines::all();
  return std::any_of(kinds.begin(), kinds.end(), [&](const engines::Kind& kind) {
    return std::any_of(kind.messages.last_lines.begin(), kind.messages.last_lines.end(), begins);
  });
}

bool says_timed_out(std::string_view errors) {
  return has_any(errors, kTimeOuts);
}

std::optional<int> abort_code(int wait_status, std::string_view errors) {
  const auto said = said_abort_code(errors);
  if (said && WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return said && was_killed(wait_status) ? said : std::nullopt;
}

std::set<int> reported_cut_off(std::span<const std::string> words) {
  std::set<int> ranks;
  for (const engines::Kind& kind : engines::all()) add_cut_off(kind.messages, words, ranks);
  return ranks;
}

std::vector<std::string> reported_error(std::span<const std::string> words, int rank) {
  for (const engines::Kind& kind : engines::all()) {
    auto report = report_on(kind.messages, words, rank);
    if (!report.empty()) return report;
  }
  return {};
}

}  // namespace muster::run
