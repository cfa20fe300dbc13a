#include "explain/explanation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "explain/candidate.hpp"
#include "explain/run_evidence.hpp"

namespace muster::explain {
namespace {

using catalogue::Kind;
using catalogue::Symptom;

// Whether PyTorch raised this exception only to repeat one from a DataLoader worker or from
// DataParallel. The original is printed above it.
bool is_raised_anew(const Exception& exception) {
  return exception.message.starts_with("Caught ") &&
         (exception.message.find(" in DataLoader worker process") != std::string::npos ||
          exception.message.find(" in pin memory thread") != std::string::npos ||
          exception.message.find(" in replica ") != std::string::npos);
}

Tier tier_of_exception(const SeenException& seen) {
  if (seen.exception.is_ignored) {
    const bool is_known = seen.failure != nullptr && seen.failure->kind == Kind::kConsequence;
    return is_known ? Tier::kIgnored : Tier::kDoubtful;
  }
  if (seen.failure != nullptr && seen.failure->kind != Kind::kBenign) {
    return tier_of(*seen.failure);
  }
  // Exceptions that follow from Ctrl-C, from a failed rank (as launchers report it), or from a lost
  // connection.
  constexpr std::array kFollowing = {"KeyboardInterrupt",    "ChildFailedError",
                                     "SignalException",      "BrokenPipeError",
                                     "ConnectionResetError", "ConnectionAbortedError"};
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

// Returns the line of the rank that failed first or, if that rank printed none, the first line.
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
              .values = seen.values,
              .order = seen.order};
  name_ranks(cause, seen);
  return cause;
}

// Adds the values, ranks and hosts of other lines that show the same failure.
void add_sighting(Cause& cause, const SeenFailure& seen, const RunKnowledge& run) {
  std::map<std::string, std::string> values = telling_sighting(seen, run).values;
  cause.values.merge(values);
  cause.order = std::min(cause.order, seen.order);
  name_ranks(cause, seen);
}

// Makes one candidate of a failure and the exception whose message shows it. Further exceptions
// that show the same failure are candidates of their own: of two "No module named ...", the program
// may have handled one and not the other.
std::vector<Candidate> candidates_of(const Evidence& evidence, const RunKnowledge& run) {
  std::vector<Candidate> candidates;
  std::map<const catalogue::Failure*, std::size_t> with_exception;
  for (const SeenException& seen : evidence.exceptions) {
    const Tier tier = tier_of_exception(seen);
    const bool is_first = seen.failure == nullptr || ++with_exception[seen.failure] == 1;
    if (is_first || tier == Tier::kCause)
      candidates.push_back({.tier = tier, .cause = cause_of(seen)});
  }
  for (const SeenFailure& seen : evidence.failures) {
    const auto exceptions = with_exception.find(seen.failure);
    if (exceptions == with_exception.end()) {
      candidates.push_back({.tier = tier_of(*seen.failure), .cause = cause_of(seen, run)});
      continue;
    }
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
      return one.cause.failure == seen.failure;
    });
    const bool is_alone = std::none_of(same + 1, candidates.end(), [&](const Candidate& one) {
      return one.cause.failure == seen.failure;
    });
    if (is_alone) add_sighting(same->cause, seen, run);
  }
  return candidates;
}

// Whether `one` was raised after `other`. Lines of different files have no common order, but Python
// prints the exception that ends a program to stderr.
bool came_after(const SeenException& one, const SeenException& other) {
  if (one.place.file == other.place.file) return one.last_order > other.last_order;
  return one.place.file == kErrorFile;
}

// Doubts exceptions after which the same rank raised another one: the rank continued, so it had
// handled them.
void doubt_handled(std::vector<Candidate>& candidates) {
  const auto may_end = [](const Candidate& one) {
    return one.tier == Tier::kCause && one.cause.exception && !one.cause.ranks.empty() &&
           !one.cause.exception->exception.is_elsewhere;
  };
  for (Candidate& one : candidates) {
    const bool is_handled =
        may_end(one) &&
        std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
          return may_end(other) && other.cause.ranks == one.cause.ranks &&
                 came_after(*other.cause.exception, *one.cause.exception);
        });
    if (is_handled) one.tier = Tier::kDoubtful;
  }
}

bool is_about_start(const catalogue::Failure* failure) {
  return failure != nullptr &&
         (failure->symptom == Symptom::kNoLogin || failure->symptom == Symptom::kNoStart ||
          failure->symptom == Symptom::kNoRendezvous);
}

bool is_about_start(const Cause& cause) {
  return !cause.exception && is_about_start(cause.failure);
}

// Whether the cause proves that the job started: its own code raised an exception, and that
// exception is not about the start.
bool shows_start(const Cause& cause) {
  return cause.exception && cause.exception->exception.is_users && !is_about_start(cause.failure);
}

// Whether the cause belongs to the rank that failed first or, if the rank is unknown, to its host.
bool is_of_first(const Cause& cause, const RunKnowledge& run) {
  if (cause.ranks.empty() && !run.first_failed_host.empty()) {
    return cause.hosts == std::vector{run.first_failed_host};
  }
  return run.first_failed_rank >= 0 && is_of_rank(cause, run.first_failed_rank);
}

// Whether this is the same failure on other ranks with a different message.
bool repeats(const Cause& cause, const Cause& earlier) {
  return cause.failure != nullptr && cause.failure == earlier.failure && !cause.ranks.empty() &&
         !earlier.ranks.empty() &&
         std::none_of(cause.ranks.begin(), cause.ranks.end(),
                      [&](int rank) { return is_of_rank(earlier, rank); });
}

std::size_t count_causes(const std::vector<Candidate>& sorted) {
  std::vector<const Cause*> counted;
  for (const Candidate& one : sorted) {
    const bool is_new = std::none_of(counted.begin(), counted.end(), [&](const Cause* earlier) {
      return repeats(one.cause, *earlier);
    });
    if (one.tier == Tier::kCause && is_new) counted.push_back(&one.cause);
  }
  return counted.size();
}

// Whether the first of several causes is the only one with this property, and therefore the root
// cause.
template <class HasMark>
bool is_alone(const std::vector<Candidate>& sorted, const HasMark& has_mark) {
  const auto marked = std::count_if(sorted.begin(), sorted.end(), [&](const Candidate& one) {
    return one.tier == Tier::kCause && has_mark(one);
  });
  return marked == 1 && has_mark(sorted.front());
}

struct Certainty {
  Confidence confidence;
  const char* reason = "";
};

// Returns what confirms a cause in addition to the log; nullptr if nothing does.
const char* support_of(const Candidate& one) {
  if (one.is_proven) return "the system proves it";
  return one.cause.found_before.empty() ? nullptr : "the checks found it before the run too";
}

bool is_supported(const Candidate& one) {
  return support_of(one) != nullptr;
}

// Whether the job may have continued after this failure of the start, for example because a login
// shell printed an unrelated error.
bool has_gone_on(const Cause& cause, const Evidence& evidence) {
  return is_about_start(cause) &&
         std::any_of(evidence.oddities.begin(), evidence.oddities.end(),
                     [&](const Oddity& odd) { return odd.order > cause.order; });
}

Certainty certainty_of_one(const Candidate& only, const Evidence& evidence) {
  if (is_supported(only)) return {Confidence::kHigh, support_of(only)};
  if (only.doubt != nullptr) return {Confidence::kMedium, only.doubt};
  if (has_gone_on(only.cause, evidence)) {
    return {Confidence::kMedium, "the job may have gone on after it: unknown errors came later"};
  }
  if (only.cause.place.file.empty() && !only.is_crash) {
    return {Confidence::kMedium, "no line of the log shows it"};
  }
  return {Confidence::kHigh, "the log shows no other known cause"};
}

Certainty certainty_of_several(const std::vector<Candidate>& sorted, const RunKnowledge& run) {
  const auto of_first = [&](const Candidate& one) { return is_of_first(one.cause, run); };
  if (is_alone(sorted, is_supported)) return {Confidence::kHigh, support_of(sorted.front())};
  if (sorted.front().doubt == nullptr && is_alone(sorted, of_first)) {
    return {Confidence::kHigh, "the other causes are of ranks that failed later"};
  }
  return {Confidence::kMedium, "the log shows other failures that could be the cause too"};
}

Certainty certainty_of(const std::vector<Candidate>& sorted, const Evidence& evidence,
                       const RunKnowledge& run) {
  if (sorted.empty()) return {Confidence::kNone};
  const Candidate& first = sorted.front();
  if (first.tier == Tier::kCause) {
    if (is_parting_words(first.cause)) {
      return {Confidence::kMedium, "muster does not know this message"};
    }
    const Certainty certainty = count_causes(sorted) == 1 ? certainty_of_one(first, evidence)
                                                          : certainty_of_several(sorted, run);
    if (run.ended_by_muster && !is_supported(first)) {
      return {std::min(certainty.confidence, Confidence::kMedium), "no rank failed by itself"};
    }
    return certainty;
  }
  if (first.tier == Tier::kDoubtful && is_supported(first)) {
    return {Confidence::kMedium, "the checks found it before the run too, but it may be harmless"};
  }
  return {Confidence::kLow, "this may be harmless, but nothing else explains a failure"};
}

// Whether a shell reads the text as one word without special meaning, and no program takes it for a
// flag.
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

// Returns the unusual lines of the log, followed by kernel messages of the failed rank's host if
// there is room.
std::vector<Oddity> oddities_of(const Evidence& evidence, const RunKnowledge& run) {
  std::vector<Oddity> oddities = evidence.oddities;
  oddities.insert(oddities.end(), run.kernel.oddities.begin(), run.kernel.oddities.end());
  oddities.resize(std::min(oddities.size(), kShownOddities));
  return oddities;
}

}  // namespace

Tier tier_of(const catalogue::Failure& failure) {
  if (failure.kind == Kind::kBenign) return Tier::kIgnored;
  if (failure.kind == Kind::kConsequence) return Tier::kConsequence;
  const bool is_mild = failure.symptom == Symptom::kWarning || failure.symptom == Symptom::kSlow;
  return is_mild ? Tier::kDoubtful : Tier::kCause;
}

bool is_of_rank(const Cause& cause, int rank) {
  return std::find(cause.ranks.begin(), cause.ranks.end(), rank) != cause.ranks.end();
}

Explanation explain(const Evidence& evidence, const RunKnowledge& run) {
  std::vector<Candidate> candidates = candidates_of(evidence, run);
  doubt_handled(candidates);
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
  const Certainty certainty = certainty_of(candidates, evidence, run);
  Explanation result{.confidence = certainty.confidence,
                     .reason = certainty.reason,
                     .verdict = run.verdict,
                     .lines = evidence.lines};
  for (Candidate& candidate : candidates) {
    set_values(candidate.cause, run);
    auto& list = candidate.tier == Tier::kConsequence ? result.consequences : result.causes;
    list.push_back(std::move(candidate.cause));
  }
  if (result.confidence < Confidence::kHigh && result.causes.size() < 2)
    result.oddities = oddities_of(evidence, run);
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
