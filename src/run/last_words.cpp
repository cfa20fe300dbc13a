#include "run/last_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <sys/wait.h>

#include "run/record.hpp"

namespace muster::run {
namespace {

constexpr std::string_view kOpenMpiError = "*** An error occurred in ";
constexpr std::string_view kOpenMpiCutOff = "*** An error occurred in Socket closed";

constexpr std::array kSayings = {
    kOpenMpiCutOff,
    std::string_view("Connection closed by peer"),         // Gloo
    std::string_view("Connection reset by peer"),          // Gloo, Open MPI, libfabric
    std::string_view("Communication error with rank"),     // MPICH
    std::string_view("Connection closed by remote peer"),  // NCCL
    std::string_view("remote process exited or there was a network error"),  // NCCL
    std::string_view("Connection was likely closed"),                        // c10d's store
};

constexpr std::array kTimeOuts = {
    std::string_view("Timed out waiting"),                             // Gloo
    std::string_view("Watchdog caught collective operation timeout"),  // NCCL
};

bool has_any(std::string_view text, std::span<const std::string_view> sayings) {
  return std::any_of(sayings.begin(), sayings.end(), [&](std::string_view saying) {
    return text.find(saying) != std::string_view::npos;
  });
}

// The rank in "[n1:00000] *** reported by process [1639514113,0]".
std::optional<int> reporter(std::string_view line) {
  constexpr std::string_view kReporter = "*** reported by process [";
  const std::size_t at = line.find(kReporter);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view process = line.substr(at + kReporter.size());
  const std::size_t comma = process.find(',');
  const std::size_t end = process.find(']');
  if (end == std::string_view::npos || comma >= end) return std::nullopt;
  int rank = -1;
  const char* const last = process.data() + end;
  const auto [stop, bad] = std::from_chars(process.data() + comma + 1, last, rank);
  return bad == std::errc() && stop == last && rank >= 0 ? std::optional(rank) : std::nullopt;
}

// The number between the last `before` and the `after` that must follow it.
std::optional<long long> code_between(std::string_view text, std::string_view before,
                                      std::string_view after) {
  const std::size_t at = text.rfind(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + before.size());
  long long number = 0;  // MPI_Abort(comm, -1) is common
  const auto [stop, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto end = rest.substr(static_cast<std::size_t>(stop - rest.data()));
  return bad == std::errc() && end.starts_with(after) ? std::optional(number) : std::nullopt;
}

// Of a process that wanted to exit with `number`.
std::optional<int> exit_code(long long number) {
  const int code = static_cast<int>(number & 0xff);
  return code == 0 ? std::nullopt : std::optional(code);
}

std::optional<int> said_abort_code(std::string_view errors) {
  const std::string text = "\n" + std::string(errors);
  const std::string_view lines = text;
  // MPICH and Intel MPI: "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(...)"
  if (const auto code = code_between(lines, "\nAbort(", ") on node ")) return exit_code(*code);
  const std::size_t abort = lines.rfind("\nMPI_ABORT was invoked on rank ");
  if (abort != std::string_view::npos) {
    const std::string_view said = lines.substr(abort);
    if (const auto code = code_between(said, "\nwith errorcode ", ".\n")) return exit_code(*code);
    if (const auto code = code_between(said, "\n  Errorcode: ", "\n")) return exit_code(*code);
  }
  // An error that ends the rank: Open MPI exits with a code that it does not print.
  constexpr int kUnknownCode = 1;
  const bool is_fatal = lines.find(kOpenMpiError) != std::string_view::npos;
  return is_fatal ? std::optional(kUnknownCode) : std::nullopt;
}

}  // namespace

bool says_cut_off(std::string_view errors) {
  return has_any(errors, kSayings);
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
  bool cut_off = false;
  for (const std::string& line : words) {
    if (line.find(kOpenMpiError) != std::string::npos) {
      cut_off = line.find(kOpenMpiCutOff) != std::string::npos;
    }
    const auto rank = reporter(line);
    if (rank && std::exchange(cut_off, false)) ranks.insert(*rank);
  }
  return ranks;
}

std::vector<std::string> reported_error(std::span<const std::string> words, int rank) {
  const auto is_report = [](const std::string& line) {
    return line.find("] *** ") != std::string::npos;
  };
  std::vector<std::string> report;
  bool has_rank = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& line = words[i];
    // Help about the error, which begins with no [host:pid], may stand before the report.
    const bool is_help = !line.starts_with('[') && line.find_first_not_of('-') != std::string::npos;
    if (is_help || is_report(line)) report.push_back(line);
    has_rank = has_rank || reporter(line) == rank;
    const bool goes_on = i + 1 < words.size() && is_report(words[i + 1]) &&
                         words[i + 1].find(kOpenMpiError) == std::string::npos;
    if (!is_report(line) || goes_on) continue;
    if (has_rank) return report;
    report.clear();
  }
  return {};
}

}  // namespace muster::run
