#include "run/stall.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::run {
namespace {

constexpr double kBusy = 0.2;  // of a CPU: then it works, or spins
constexpr double kPolls =
    0.05;  // of a CPU: then it polls while it waits for others, as Gloo and MPI do
constexpr double kIdle = 0.01;

bool runs(const Seen& one) {
  return one.span_s > 0 ? one.cpu_s / one.span_s > kBusy : one.look.state == "R";
}

double load(const Seen& one) {
  return one.span_s > 0 ? one.cpu_s / one.span_s : 0;
}

// Among ranks that all wait, those that use no CPU while the others poll.
std::vector<const Seen*> sleepers(std::span<const Seen> ranks) {
  std::vector<const Seen*> idle;
  for (const Seen& one : ranks) {
    if (load(one) <= kIdle) {
      idle.push_back(&one);
    } else if (load(one) < kPolls) {
      return {};
    }
  }
  return idle.size() < ranks.size() ? idle : std::vector<const Seen*>();
}

std::string_view state_words(const std::string& state) {
  if (state == "T") return "stopped";
  if (state == "R") return "running";
  if (state == "D") return "waiting for a device or a file system";
  if (state == "S") return "waiting";
  return "gone";
}

std::string names_of(const std::vector<const Seen*>& ranks) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> names;
  for (const Seen* one : ranks) {
    if (names.size() < kMostNamed) names.push_back(fmt::format("{} on {}", one->rank, one->host));
  }
  const std::size_t more = ranks.size() - names.size();
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::string stalled_text(std::span<const Seen> ranks) {
  std::string text;
  for (const Seen& one : ranks) {
    text += fmt::format("rank {} on {}: {} ({}){}{}, {:.2f} s of CPU in {:.1f} s\n", one.rank,
                        one.host, one.look.state, state_words(one.look.state),
                        one.look.waits_in.empty() ? "" : " in ", one.look.waits_in, one.cpu_s,
                        one.span_s);
  }
  return text;
}

std::string what_stands_out(std::span<const Seen> ranks) {
  std::vector<const Seen*> stopped, hanging, running, waiting;
  for (const Seen& one : ranks) {
    if (one.look.state == "T") stopped.push_back(&one);
    if (one.look.state == "D") hanging.push_back(&one);
    (runs(one) ? running : waiting).push_back(&one);
  }
  const auto are = [](const auto& list) { return list.size() == 1 ? "is" : "are"; };
  if (!stopped.empty()) {
    return fmt::format("{} {} stopped (SIGSTOP, or a debugger)", names_of(stopped), are(stopped));
  }
  if (!hanging.empty() && hanging.size() < ranks.size()) {
    return fmt::format("{} wait{} for a device or a file system", names_of(hanging),
                       hanging.size() == 1 ? "s" : "");
  }
  if (ranks.empty()) return {};
  if (running.empty()) {
    const std::vector<const Seen*> idle = sleepers(ranks);
    if (idle.empty()) return "all ranks wait";
    return fmt::format("{} sleep{}; the others wait", names_of(idle), idle.size() == 1 ? "s" : "");
  }
  if (waiting.empty()) return "all ranks run";
  if (waiting.size() < running.size()) {  // MPI waits by spinning
    return fmt::format("{} wait{}, the others run", names_of(waiting),
                       waiting.size() == 1 ? "s" : "");
  }
  return fmt::format("{} run{}, the others wait", names_of(running),
                     running.size() == 1 ? "s alone" : "");
}

}  // namespace muster::run
