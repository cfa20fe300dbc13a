#include "remote/outcome.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/size_text.hpp"
#include "remote/diagnose.hpp"
#include "remote/grouped.hpp"
#include "remote/time_limit.hpp"
#include "sys/quote.hpp"

namespace muster::remote {
namespace {

constexpr int kSignalBase = 128;  // a shell exits with 128 + n if signal n ended the program
constexpr int kHighestSignal = 64;

int code_of(const sys::Ended& ended) {
  return ended.signal != 0 ? kSignalBase + ended.signal : ended.code;
}

// The signal that ended the command, even if a shell only reports it as its exit code; 0 if none is
// known.
int signal_of(const sys::Ended& ended) {
  if (ended.timed_out) return 0;
  const int signal = code_of(ended) - kSignalBase;
  return signal > 0 && signal <= kHighestSignal ? signal : 0;
}

std::string reason(const sys::Ended& ended) {
  if (ended.timed_out && ended.code == kLeft) {
    return "the time limit passed, and muster could not end all processes of the command\n"
           "    hint: they belong to another user, or wait for a file system or a device that does "
           "not answer";
  }
  if (ended.timed_out) {
    return "the time limit passed; muster ended the command and what it had started";
  }
  if (const int signal = signal_of(ended); signal != 0) {
    return fmt::format("exit code {}: signal {} ({})", code_of(ended), signal, ::strsignal(signal));
  }
  if (ended.code == kSshFailed) {
    return fmt::format("exit code {}, or a signal: ssh does not tell which", kSshFailed);
  }
  return fmt::format("exit code {}", ended.code);
}

std::string dropped_text(std::uint64_t bytes) {
  return fmt::format(
      "its output is incomplete, because muster keeps only so much in memory and dropped {}\n"
      "    hint: write the output to a file on the host; muster exec --label has no such limit",
      file_size_text(bytes));
}

// The reason without the host's name, so that hosts with the same failure can be grouped.
std::string reason(const Outcome& outcome) {
  if (outcome.ended) {
    const std::string how = outcome.ended->ok() ? "" : reason(*outcome.ended);
    if (outcome.ended->dropped == 0) return how;
    return how + (how.empty() ? "" : "; ") + dropped_text(outcome.ended->dropped);
  }
  const Error& error = outcome.ended.error();
  return error.hint.empty() ? error.what : error.what + "\n    hint: " + error.hint;
}

// Returns ssh's own message for the first host of a group. The message differs from host to host,
// so the group shows only this one.
std::string own_words(const Outcome& first) {
  if (first.ended || !first.ended.error().cause) return {};
  return fmt::format("    {}\n", first.ended.error().cause->what);
}

int weight(ErrorCode code) {
  if (code == ErrorCode::kUnreachable) return 3;
  return code == ErrorCode::kTimeout ? 1 : 2;
}

}  // namespace

Conclusion conclusion(std::span<const Outcome> outcomes) {
  Conclusion whole;
  for (const Outcome& outcome : outcomes) {
    const bool late = outcome.ended && outcome.ended->timed_out;
    if (outcome.ended && !late) whole.code = std::max(whole.code, code_of(*outcome.ended));
    if (outcome.ended && !late && outcome.ended->dropped == 0) continue;
    const ErrorCode failure = late            ? ErrorCode::kTimeout
                              : outcome.ended ? ErrorCode::kSystem
                                              : outcome.ended.error().code;
    if (!whole.failure || weight(failure) > weight(*whole.failure)) whole.failure = failure;
  }
  return whole;
}

std::string failures_text(std::span<const Outcome> outcomes) {
  std::vector<std::string> reasons;
  reasons.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) reasons.push_back(reason(outcome));
  std::vector<Said> said;
  std::unordered_map<std::string_view, const Outcome*> outcome_of;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    said.push_back({.host = outcomes[i].host, .text = reasons[i]});
    outcome_of[outcomes[i].host] = &outcomes[i];
  }
  std::size_t failed = 0;
  std::string text;
  for (const Group& group : group_equal(said)) {
    failed += group.hosts.size();
    text += fmt::format("  {}: {}\n", folded(group.hosts), group.text);
    text += own_words(*outcome_of[group.hosts[0]]);
  }
  if (failed == 0) return {};
  return fmt::format("muster: {} of {} hosts failed\n", failed, outcomes.size()) + text;
}

std::string to_json(const Outcome& outcome) {
  nlohmann::ordered_json json = {{"host", outcome.host}};
  if (outcome.ended) {
    if (outcome.ended->timed_out) {
      json["timed_out"] = true;
      json["error"] = reason(*outcome.ended);
    } else {
      json["code"] = code_of(*outcome.ended);
    }
    if (const int signal = signal_of(*outcome.ended); signal != 0) json["signal"] = signal;
    json["out"] = outcome.ended->out;
    json["err"] = outcome.ended->err;
    if (outcome.ended->dropped > 0) json["dropped_bytes"] = outcome.ended->dropped;
  } else {
    const Error& error = outcome.ended.error();
    json["timed_out"] = error.code == ErrorCode::kTimeout;
    json["error"] = error.what;
    if (!error.hint.empty()) json["hint"] = error.hint;
    if (error.cause) json["because"] = error.cause->what;
  }
  return json_text(json);
}

std::string command_line(std::span<const std::string> words) {
  if (words.size() == 1) return words[0];
  return "sh -c '\"$@\"; exit $?' sh " + sys::quote(words);
}

}  // namespace muster::remote
