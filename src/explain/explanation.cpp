#include "explain/explanation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <set>
#include <tuple>

#include "explain/candidate.hpp"
#include "explain/run_evidence.hpp"

namespace muster::explain {
namespace {

using catalogue::Kind;
using catalogue::Symptom;

// Of a DataLoader's worker or of DataParallel: PyTorch raises it anew in the main process, below
// the original.
bool is_raised_anew(const Exception& exception) {
  return exception.message.starts_with("Caught ") &&
         (exception.message.find(" in DataLoader worker process") != std::string::npos ||
          exception.message.find(" in pin memory thread") != std::string::npos ||
          exception.message.find(" in replica ") != std::string::npos);
}

Tier tier_of_exception(const SeenException& seen) {
  if (seen.failure != nullptr && seen.failure->kind != Kind::kBenign) {
    return tier_of(*seen.failure);
  }
  // Ctrl-C, and how launchers report that a rank failed.
  constexpr std::array kFollowing = {"KeyboardInterrupt", "ChildFailedError", "SignalException",
                                     "BrokenPipeError"};
  const bool is_following =
      std::find(kFollowing.begin(), kFollowing.end(), seen.exception.type) != kFollowing.end();
  if (is_following || is_raised_anew(seen.exception)) return Tier::kConsequence;
  return seen.exception.is_users ? Tier::kCause : Tier::kDoubtful;
}

template <class Seen>
void name_ranks(Cause& cause, const Seen& seen) {
  cause.ranks.assign(seen.ranks.begin(), seen.ranks.end());
  cause.hosts.assign(seen.hosts.begin(), seen.hosts.end());
}

// The line of the rank that failed first, if it printed one.
const Sighting& telling_sighting(const SeenFailure& seen, const RunKnowledge& run) {
  const auto found = std::find_if(seen.first.begin(), seen.first.end(), [&](const Sighting& one) {
    return run.first_failed_rank >= 0 && one.origin.rank == run.first_failed_rank;
  });
  return found == seen.first.end() ? seen.first.front() : *found;
}

Cause cause_of(const SeenFailure& seen, const RunKnowledge& run) {
  const Sighting& first = telling_sighting(seen, run);
  Cause cause{.failure = seen.failure,
              .place = first.place,
              .origin = first.origin,
              .text = first.text,
              .values = first.values,
              .order = seen.order};
  name_ranks(cause, seen);
  return cause;
}

Cause cause_of(const SeenException& seen) {
  Cause cause{.failure = seen.failure,
              .exception = seen,
              .place = seen.place,
              .origin = seen.exception.origin,
              .text = headline(seen.exception),
              .order = seen.order};
  name_ranks(cause, seen);
  return cause;
}

// An exception whose message the catalogue knows is one cause together with that failure.
std::vector<Candidate> candidates_of(const Evidence& evidence, const RunKnowledge& run) {
  std::vector<Candidate> candidates;
  std::set<const catalogue::Failure*> with_exception;
  for (const SeenException& seen : evidence.exceptions) {
    if (seen.failure != nullptr && !with_exception.insert(seen.failure).second) continue;
    candidates.push_back({.tier = tier_of_exception(seen), .cause = cause_of(seen)});
  }
  for (const SeenFailure& seen : evidence.failures) {
    if (!with_exception.contains(seen.failure)) {
      candidates.push_back({.tier = tier_of(*seen.failure), .cause = cause_of(seen, run)});
      continue;
    }
    for (Candidate& candidate : candidates) {
      if (candidate.cause.failure != seen.failure) continue;
      candidate.cause.values = telling_sighting(seen, run).values;
      candidate.cause.order = std::min(candidate.cause.order, seen.order);
      name_ranks(candidate.cause, seen);
    }
  }
  return candidates;
}

bool is_about_start(const catalogue::Failure* failure) {
  return failure != nullptr &&
         (failure->symptom == Symptom::kNoLogin || failure->symptom == Symptom::kNoStart ||
          failure->symptom == Symptom::kNoRendezvous);
}

bool is_about_start(const Cause& cause) {
  return !cause.exception && is_about_start(cause.failure);
}

// A job whose own code has raised an exception did start, unless that is what the exception denies.
bool shows_start(const Cause& cause) {
  return cause.exception && cause.exception->exception.is_users && !is_about_start(cause.failure);
}

// Of the rank that failed first or, where nobody knows the rank, of its host.
bool is_of_first(const Cause& cause, const RunKnowledge& run) {
  if (cause.ranks.empty() && !run.first_failed_host.empty()) {
    return cause.hosts == std::vector{run.first_failed_host};
  }
  return run.first_failed_rank >= 0 && std::find(cause.ranks.begin(), cause.ranks.end(),
                                                 run.first_failed_rank) != cause.ranks.end();
}

// The first of several causes is the root cause if it alone has this mark.
template <class HasMark>
bool is_alone(const std::vector<Candidate>& sorted, const HasMark& has_mark) {
  const auto marked = std::count_if(sorted.begin(), sorted.end(), [&](const Candidate& one) {
    return one.tier == Tier::kCause && has_mark(one);
  });
  return marked == 1 && has_mark(sorted.front());
}

Confidence confidence_of(const std::vector<Candidate>& sorted, const Evidence& evidence,
                         const RunKnowledge& run) {
  const auto count = [&](Tier tier) {
    return std::count_if(sorted.begin(), sorted.end(),
                         [&](const Candidate& one) { return one.tier == tier; });
  };
  const auto causes = count(Tier::kCause);
  // The job may have gone on after it, as after noise of a login shell.
  const auto is_later = [&](const Oddity& odd) { return odd.order > sorted.front().cause.order; };
  const bool is_doubtful =
      !sorted.empty() && is_about_start(sorted.front().cause) &&
      std::any_of(evidence.oddities.begin(), evidence.oddities.end(), is_later);
  const auto is_supported = [](const Candidate& one) {
    return one.is_proven || !one.cause.found_before.empty();
  };
  if (causes > 0 && is_parting_words(sorted.front().cause)) return Confidence::kMedium;
  if (causes == 1) {
    const bool is_crash = run.fatal_signal && run.fatal_signal->signal != SIGKILL &&
                          run.fatal_signal->signal != SIGTERM;  // who sent these is not known
    const bool is_shown = !sorted.front().cause.place.file.empty() || is_crash;
    const bool is_sure = is_supported(sorted.front()) || (!is_doubtful && is_shown);
    return is_sure ? Confidence::kHigh : Confidence::kMedium;
  }
  if (causes > 1) {
    const auto of_first = [&](const Candidate& one) { return is_of_first(one.cause, run); };
    return is_alone(sorted, is_supported) || is_alone(sorted, of_first) ? Confidence::kHigh
                                                                        : Confidence::kMedium;
  }
  const auto was_found = [](const Candidate& one) { return !one.cause.found_before.empty(); };
  if (std::any_of(sorted.begin(), sorted.end(), was_found)) return Confidence::kMedium;
  return count(Tier::kDoubtful) + count(Tier::kConsequence) > 0 ? Confidence::kLow
                                                                : Confidence::kNone;
}

// What a shell takes for one plain word, and no program for a flag.
bool is_plain_word(std::string_view value) {
  constexpr std::string_view kHarmless = "._:/@%+=,-";
  return !value.empty() && value.front() != '-' &&
         std::all_of(value.begin(), value.end(), [&](unsigned char c) {
           return (c < 0x80 && std::isalnum(c) != 0) ||
                  kHarmless.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

void set_values(Cause& cause, const RunKnowledge& run) {
  if (!cause.origin.host.empty()) cause.values.try_emplace("host", cause.origin.host);
  if (cause.origin.rank >= 0) {
    cause.values.try_emplace("rank", std::to_string(cause.origin.rank));
  }
  std::string hosts;
  for (const std::string& host : run.hosts) hosts += (hosts.empty() ? "" : ",") + host;
  if (!hosts.empty()) cause.values.try_emplace("hosts", hosts);
  const auto is_foreign = [&](const std::string& host) {
    return !run.hosts.empty() &&
           std::find(run.hosts.begin(), run.hosts.end(), host) == run.hosts.end();
  };
  for (const auto& [name, value] : cause.values) {
    if (!is_plain_word(value) || (name == "host" && is_foreign(value))) continue;
    cause.step_values[name] = value;
  }
}

}  // namespace

Tier tier_of(const catalogue::Failure& failure) {
  if (failure.kind == Kind::kBenign) return Tier::kIgnored;
  if (failure.kind == Kind::kConsequence) return Tier::kConsequence;
  const bool is_mild = failure.symptom == Symptom::kWarning || failure.symptom == Symptom::kSlow;
  return is_mild ? Tier::kDoubtful : Tier::kCause;
}

Explanation explain(const Evidence& evidence, const RunKnowledge& run) {
  std::vector<Candidate> candidates = candidates_of(evidence, run);
  add_run_evidence(candidates, run);
  add_parting_words(candidates, evidence.parting_words, run);
  std::erase_if(candidates, [](const Candidate& one) { return one.tier == Tier::kIgnored; });
  const bool has_started = std::any_of(candidates.begin(), candidates.end(),
                                       [](const auto& one) { return shows_start(one.cause); });
  std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const Candidate& one) {
      return std::tuple(one.tier, !one.is_proven, one.cause.found_before.empty(),
                        !is_of_first(one.cause, run), has_started && is_about_start(one.cause),
                        one.cause.order);
    };
    return key(a) < key(b);
  });
  Explanation result{.confidence = confidence_of(candidates, evidence, run),
                     .verdict = run.verdict,
                     .lines = evidence.lines};
  for (Candidate& candidate : candidates) {
    set_values(candidate.cause, run);
    auto& list = candidate.tier == Tier::kConsequence ? result.consequences : result.causes;
    list.push_back(std::move(candidate.cause));
  }
  if (result.confidence < Confidence::kHigh && result.causes.size() < 2)
    result.oddities = evidence.oddities;
  return result;
}

std::string filled(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      result += c;
      ++at;
      continue;
    }
    const std::size_t end = c == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      result += c;
      continue;
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    const auto value = values.find(name);
    if (value != values.end()) {
      result += value->second;
    } else {
      std::transform(name.begin(), name.end(), std::back_inserter(result),
                     [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    }
    at = end;
  }
  return result;
}

std::string name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::kNone:
      return "none";
    case Confidence::kLow:
      return "low";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kHigh:
      return "high";
  }
  return "none";
}

}  // namespace muster::explain
