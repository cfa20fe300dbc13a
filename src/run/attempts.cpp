#include "run/attempts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/colour.hpp"
#include "hosts/fold.hpp"
#include "run/folder.hpp"
#include "sys/print.hpp"

namespace muster::run {
namespace {

Ending interrupted(int signal) {
  const std::string text = fmt::format("stopped by {} before the restart", ::strsignal(signal));
  sys::print_err("muster: {}\n", text);
  return {.code = 128 + signal, .text = text, .stopped = true};
}

// Prints how to look for the cause of the last failure. muster did not explain it by itself,
// because another attempt was to follow.
void point_to_cause(const Turn& turn) {
  sys::print_err("  hint: to look for the cause of the failure: muster explain {}\n", turn.base);
}

Ending out_of_time(double limit_s, std::string_view when, const Turn& turn) {
  const std::string text =
      fmt::format("not started again: the time limit of {:g} s {}", limit_s, when);
  sys::print_err("muster: {}\n", text);
  point_to_cause(turn);
  return {.code = kExitTimedOut, .text = text};
}

// Prints the end of an attempt. The first line of a failure is red.
void say_end(const AttemptEnd& end) {
  const bool colours = sys::shows_colours(STDERR_FILENO) && end.verdict.code != 0;
  constexpr std::string_view kLabel = "muster:";
  for (const std::string& line : heading_lines(end)) {
    const bool is_first = line.starts_with(kLabel);
    sys::print_err("{}{}\n", is_first ? painted(kLabel, Colour::kRed, colours) : "",
                   is_first ? line.substr(kLabel.size()) : line);
  }
  for (const std::string& line : end.ending) sys::print_err("{}\n", line);
}

}  // namespace

std::vector<std::string> heading_lines(const AttemptEnd& end) {
  constexpr std::size_t kMostOfWhy = 3;
  constexpr std::size_t kMostOfVerdict = 5;
  std::vector<std::string> lines = muster_lines(end.decision.why, kMostOfWhy);
  if (end.decision.crash_loop) return lines;
  const std::vector<std::string> verdict = muster_lines(end.verdict.text, kMostOfVerdict);
  lines.insert(lines.end(), verdict.begin(), verdict.end());
  return lines;
}

std::string Turn::id() const {
  return attempt_id(base, number);
}

std::vector<std::string> Turn::earlier() const {
  std::vector<std::string> ids;
  for (int i = 0; i < number; ++i) ids.push_back(attempt_id(base, i));
  return ids;
}

Attempts::Attempts(Stage& stage, const AttemptRules& rules, Turn turn)
    : stage_(stage),
      rules_(rules),
      members_(stage, rules.spares, rules.patience.lost_after_s),
      turn_(std::move(turn)) {}

Result<Ending> Attempts::run() {
  for (;; ++turn_.number) {
    MUSTER_TRY(const std::optional<Ending> ending, attempt());
    if (ending) return *ending;
  }
}

// Returns how many seconds are left of --timeout, which covers all attempts together.
double Attempts::time_left() const {
  const double spent =
      is_first() ? 0 : std::chrono::duration<double>(stage_.now() - began_).count();
  return rules_.patience.timeout_s - spent;
}

Result<std::optional<Ending>> Attempts::attempt() {
  MUSTER_TRY(const Gathered gathered, members_.gather(turn_));
  if (auto ending = refuse(gathered)) return ending;
  const int restarts = gathered.look.max_restarts;
  const bool ours = members_.restartable() && (restarts > 0 || turn_.number > 0);
  turn_.most = ours ? restarts : -1;
  MUSTER_TRY(const std::optional<int> nothing_to_start, stage_.prepare(turn_, is_first()));
  if (nothing_to_start) return std::optional(Ending{.code = *nothing_to_start});
  if (rules_.patience.timeout_s > 0 && time_left() <= 0) {
    return std::optional(out_of_time(rules_.patience.timeout_s, "has passed", turn_));
  }
  announce(gathered.look);
  const Patience patience = this->patience();
  if (is_first()) began_ = stage_.now();
  MUSTER_TRY(const AttemptEnd end,
             stage_.supervise(turn_, patience, [this](const auto& record, const auto& verdict) {
               return decide(record, verdict);
             }));
  std::optional<Ending> ending = follow_up(end);
  if (!ending) stage_.close({});
  return ending;
}

std::optional<Ending> Attempts::refuse(const Gathered& gathered) const {
  if (gathered.signal) return interrupted(*gathered.signal);
  const Look& look = gathered.look;
  const bool missing = !is_first() && !gathered.missing.empty();
  const bool refused = missing || look.has_errors;
  if (!look.findings.empty() && (refused || (!rules_.quiet && is_first()))) {
    sys::write_err(look.findings);
  }
  if (!refused) return std::nullopt;
  if (is_first()) {
    sys::print_err("muster: not started because of the errors above (--force starts it anyway)\n");
    return Ending{.code = look.refusal_code, .text = look.first_error};
  }
  sys::print_err("muster: not started again; {}\n",
                 missing ? fmt::format("{}: {}, for {:.0f} s, and there is no spare host",
                                       gathered.missing.front().host, gathered.missing.front().why,
                                       gathered.waited_s)
                         : "see above");
  point_to_cause(turn_);
  return last_;
}

void Attempts::announce(const Look& look) {
  std::vector<std::string> names;
  for (const hosts::Host& member : look.members) names.push_back(member.name);
  const std::vector<std::string> changes = members_.take_changes();
  const std::string changed = changes.empty() ? "" : fmt::format(", {}", fmt::join(changes, ", "));
  if (turn_.number > 0) {
    sys::print_err("muster: starting again on {}{}; TORCHELASTIC_RESTART_COUNT={}\n",
                   hosts::fold(names), changed, turn_.number);
  } else if (!changed.empty()) {
    sys::print_err("muster: starting on {}{}\n", hosts::fold(names), changed);
  }
  if (!rules_.quiet) sys::write_err(look.understood);
}

Patience Attempts::patience() const {
  Patience patience = rules_.patience;
  // A lost host must end its old ranks no later than muster gives the host up; otherwise an old
  // rank could write to the same files as its successor.
  if (turn_.most > 0) {
    patience.orphan_after_s = std::min(patience.orphan_after_s, patience.lost_after_s);
  }
  patience.spent_s = rules_.patience.timeout_s - time_left();
  return patience;
}

Decision Attempts::decide(const Record& record, const Verdict& verdict) {
  attempts_.push_back(summarize(record, verdict));
  last_ = ending_of(verdict);
  return decide_restart(attempts_, {.most = std::max(turn_.most, 0),
                                    .spares = members_.has_spares(),
                                    .longest_wait_s = rules_.longest_wait_s});
}

// Announces how the attempt ended. Waits for the next attempt, or returns how the run ended if none
// follows.
std::optional<Ending> Attempts::follow_up(const AttemptEnd& end) {
  const Verdict& verdict = end.verdict;
  const Decision& decision = end.decision;
  if (!decision.again) {
    say_end(end);
    return last_;
  }
  const int first = turn_.number - static_cast<int>(attempts_.size()) + 1;
  sys::print_err("muster: attempt {} of {}: {}; starting again in {:g} s\n", turn_.number + 1,
                 first + turn_.most + 1, verdict.text, decision.wait_s);
  if (rules_.patience.timeout_s > 0 && time_left() <= decision.wait_s) {
    return out_of_time(rules_.patience.timeout_s, "would pass first", turn_);
  }
  if (const auto signal = stage_.pause(decision.wait_s)) return interrupted(*signal);
  members_.leave(decision.bad_hosts);
  return std::nullopt;
}

}  // namespace muster::run
