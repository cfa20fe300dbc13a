#include "run/restart.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/exit_code.hpp"

namespace muster::run {
namespace {

// After an attempt that lived this long, in seconds, the next restart is quick again.
constexpr double kLongLife = 300;
// An attempt that lived less than this, in seconds, may be part of a crash loop.
constexpr double kShortLife = 30;
// How many attempts in a row must fail in the same way to be a crash loop.
constexpr std::size_t kLoop = 3;
// The same for killed ranks. It is higher because the killer is probably outside the program.
constexpr std::size_t kKilledLoop = 6;

// Whether the program could not be started at all. Trying again would not help.
bool was_not_runnable(const RankRecord& rank) {
  if (!rank.end || rank.end->failure.empty() || !WIFEXITED(rank.end->status)) return false;
  const int code = WEXITSTATUS(rank.end->status);
  return code == kExitCannotRun || code == kExitNotFound;
}

bool ends_it(const Attempt& last) {
  return last.code == 0 || last.reason == Reason::kInterrupted || last.reason == Reason::kTimeout ||
         last.cannot_run || last.all_well;
}

// Lost hosts and stalls are handled differently and do not count as crashes.
bool is_crash(const Attempt& attempt) {
  return attempt.lost_hosts.empty() && attempt.reason != Reason::kStalled &&
         attempt.lived_s < kShortLife;
}

bool same_cause(const Attempt& one, const Attempt& other) {
  if (one.failed_rank < 0 || other.failed_rank < 0) {
    return one.failed_rank == other.failed_rank && one.text == other.text;
  }
  return one.failed_rank == other.failed_rank && one.failed_status == other.failed_status;
}

std::size_t loop_length(const Attempt& last) {
  const bool by_signal = last.failed_rank >= 0 && WIFSIGNALED(last.failed_status);
  const int signal = by_signal ? WTERMSIG(last.failed_status) : 0;
  return signal == SIGKILL || signal == SIGTERM ? kKilledLoop : kLoop;
}

bool is_loop(std::span<const Attempt> attempts) {
  const std::size_t length = loop_length(attempts.back());
  if (attempts.size() < length) return false;
  const bool all_short = std::all_of(attempts.begin(), attempts.end(),
                                     [](const Attempt& one) { return one.lived_s < kShortLife; });
  const auto latest = attempts.last(length);
  return all_short && std::all_of(latest.begin(), latest.end(), [&](const Attempt& one) {
           return is_crash(one) && same_cause(one, latest.back());
         });
}

std::string loop_text(std::span<const Attempt> attempts) {
  const Attempt& last = attempts.back();
  const std::size_t length = loop_length(last);
  const auto latest = attempts.last(length);
  double longest = 0;
  for (const Attempt& one : latest) longest = std::max(longest, one.lived_s);
  const std::string who = last.failed_rank < 0
                              ? last.text
                              : fmt::format("rank {} ended with {}", last.failed_rank,
                                            describe_status(last.failed_status));
  return fmt::format("crash loop: {} in {} attempts in a row, each within {:.0f} s", who, length,
                     std::ceil(longest));
}

std::vector<BadHost> bad_hosts(std::span<const Attempt> attempts, const RestartRules& rules) {
  const Attempt& last = attempts.back();
  std::vector<BadHost> bad;
  for (const std::string& host : last.lost_hosts) bad.push_back({.host = host, .why = "lost"});
  if (!bad.empty() || !rules.spares || attempts.size() < 2 || last.failed_host.empty()) return bad;
  if (attempts[attempts.size() - 2].failed_host == last.failed_host) {
    bad.push_back({.host = last.failed_host,
                   .why = "the first rank to fail was on this host twice in a row",
                   .only_for_spare = true});
  }
  return bad;
}

}  // namespace

double back_off_s(int number, double longest_s) {
  return std::min(longest_s, std::exp2(std::clamp(number - 1, 0, 10)));
}

Attempt summarize(const Record& record, const Verdict& verdict) {
  Attempt attempt{.id = record.id,
                  .reason = record.reason,
                  .code = verdict.code,
                  .text = verdict.text,
                  .lost_hosts = record.lost_hosts,
                  .lived_s = record.ended_s - record.started_s};
  attempt.all_well = !record.ranks.empty();
  // If the program is missing on some hosts only, a file system may not be mounted there; the next
  // check of the hosts will find that.
  bool none_ran = true;
  for (const RankRecord& rank : record.ranks) {
    attempt.all_well = attempt.all_well && rank.end && rank.end->status == 0;
    attempt.cannot_run = attempt.cannot_run || was_not_runnable(rank);
    none_ran = none_ran && (!rank.end || was_not_runnable(rank));
  }
  attempt.cannot_run = attempt.cannot_run && none_ran;
  const RankRecord* first = verdict.first_failed_rank < 0 ? nullptr : first_failed(record);
  if (first == nullptr || !first->end) return attempt;
  attempt.failed_rank = first->rank;
  attempt.failed_status = first->end->status;
  attempt.failed_host = first->host;
  return attempt;
}

Decision decide_restart(std::span<const Attempt> attempts, const RestartRules& rules) {
  const Attempt& last = attempts.back();
  if (ends_it(last) || rules.most == 0) return {};
  if (is_loop(attempts)) return {.why = loop_text(attempts), .crash_loop = true};
  const auto made = static_cast<int>(attempts.size()) - 1;
  if (made >= rules.most) {
    return {.why = fmt::format("{} restart{} made and no more are allowed; the last attempt:", made,
                               made == 1 ? " was" : "s were")};
  }
  int quick = 0;
  for (auto one = attempts.rbegin(); one != attempts.rend() && one->lived_s <= kLongLife; ++one) {
    ++quick;
  }
  return {.again = true,
          .why = last.text,
          .wait_s = back_off_s(std::max(quick, 1), rules.longest_wait_s),
          .bad_hosts = bad_hosts(attempts, rules)};
}

}  // namespace muster::run
