#include "run/last_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>

namespace muster::run {
namespace {

constexpr std::string_view kOpenMpi = "*** An error occurred in Socket closed";

constexpr std::array kSayings = {
    kOpenMpi,
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

}  // namespace

bool says_cut_off(std::string_view errors) {
  return has_any(errors, kSayings);
}

bool says_timed_out(std::string_view errors) {
  return has_any(errors, kTimeOuts);
}

std::optional<int> said_abort_code(std::string_view errors) {
  // "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(...) - process 1"
  constexpr std::string_view kAbort = "\nAbort(";
  const std::string lines = "\n" + std::string(errors);
  const std::size_t at = lines.rfind(kAbort);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(lines).substr(at + kAbort.size());
  long long number = 0;  // MPI_Abort(comm, -1) is common
  const auto [stop, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto after = rest.substr(static_cast<std::size_t>(stop - rest.data()));
  if (bad != std::errc() || !after.starts_with(") on node ")) return std::nullopt;
  const int code = static_cast<int>(number & 0xff);  // all that a process can exit with
  return code == 0 ? std::nullopt : std::optional(code);
}

std::set<int> reported_cut_off(std::string_view words) {
  constexpr std::string_view kReporter = "*** reported by process [";
  std::set<int> ranks;
  for (std::size_t at = 0; (at = words.find(kOpenMpi, at)) != std::string_view::npos;) {
    at += kOpenMpi.size();
    // "[n1:00000] *** reported by process [1639514113,0]" is the next line.
    const std::string_view rest = words.substr(at, words.find(kOpenMpi, at) - at);
    const std::size_t reporter = rest.find(kReporter);
    if (reporter == std::string_view::npos) continue;
    std::string_view process = rest.substr(reporter + kReporter.size());
    if (process.find(']') == std::string_view::npos) continue;
    process = process.substr(0, process.find(']'));
    if (process.find(',') == std::string_view::npos) continue;
    process.remove_prefix(process.find(',') + 1);
    int rank = -1;
    const char* last = process.data() + process.size();
    const auto [stop, bad] = std::from_chars(process.data(), last, rank);
    if (bad == std::errc() && stop == last && rank >= 0) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace muster::run
