#include "explain/run_evidence.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace muster::explain {
namespace {

using catalogue::Failure;
using catalogue::Symptom;

constexpr std::string_view kMemoryRanOut = "rank-memory-ran-out";
constexpr std::string_view kAborted = "rank-aborted";

struct SignalRow {
  int signal;
  std::string_view id;  // of the catalogue
};
constexpr std::array kSignals = {
    SignalRow{SIGKILL, "rank-killed-from-outside"},
    SignalRow{SIGTERM, "rank-killed-from-outside"},
    SignalRow{SIGSEGV, "program-segfault"},
    SignalRow{SIGABRT, kAborted},
    SignalRow{SIGBUS, "rank-bus-error"},
    SignalRow{SIGILL, "mixed-cpu-isa"},
};

bool contains(const std::vector<std::string>& hosts, const std::string& host) {
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

bool has_cause(const std::vector<Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const Candidate& one) { return one.tier == Tier::kCause; });
}

bool is_memory_kill(const Failure& failure) {
  return failure.id == "host-oom-kill" || failure.id == "cgroup-oom-kill";
}

// Whether an output without a known cause is about GPUs.
bool mentions_gpus(const std::vector<Candidate>& candidates) {
  constexpr std::array kWords = {"CUDA", "cuda", "NCCL", "GPU", "HIP"};
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return std::any_of(kWords.begin(), kWords.end(), [&](const char* word) {
      return one.cause.text.find(word) != std::string::npos;
    });
  });
}

bool is_of_rank(const Cause& cause, int rank) {
  return std::find(cause.ranks.begin(), cause.ranks.end(), rank) != cause.ranks.end();
}

// What the output names as the cause of the first failure, or what may be it.
bool names_cause(const std::vector<Candidate>& of_output, const RunKnowledge& run) {
  return std::any_of(of_output.begin(), of_output.end(), [&](const Candidate& one) {
    return one.tier == Tier::kCause &&
           (one.cause.ranks.empty() || is_of_rank(one.cause, run.first_failed_rank));
  });
}

// The kernel killed a process on the host just before: the rank, or one of its children if the
// rank does not give another reason.
bool is_killed_for_memory(const RunKnowledge& run, const std::vector<Candidate>& of_output) {
  if (!run.fatal_signal || !run.fatal_signal->memory_ran_out) return false;
  return run.fatal_signal->signal == SIGKILL || !names_cause(of_output, run);
}

// The kernel's log may be about other programs and other times than those of the failure.
Candidate kernel_candidate(const SeenFailure& seen, const RunKnowledge& run,
                           const std::vector<Candidate>& of_output) {
  const Failure& failure = *seen.failure;
  const Sighting& first = seen.first.front();
  Candidate candidate{.tier = tier_of(failure),
                      .cause = {.failure = &failure,
                                .place = first.place,
                                .origin = first.origin,
                                .text = first.text,
                                .hosts = {seen.hosts.begin(), seen.hosts.end()},
                                .values = first.values}};
  const bool is_there = contains(candidate.cause.hosts, run.first_failed_host);
  const bool was_killed = run.fatal_signal && run.fatal_signal->signal == SIGKILL;
  const bool is_for_memory = is_killed_for_memory(run, of_output);
  const bool fits = is_there && (is_memory_kill(failure)
                                     ? was_killed || is_for_memory
                                     : !has_cause(of_output) ||
                                           (failure.topic == "gpus" && mentions_gpus(of_output)));
  // A kill for memory may have been long before.
  candidate.may_be_of_others = fits && is_memory_kill(failure) && !is_for_memory;
  candidate.is_proven = fits && !candidate.may_be_of_others && candidate.tier == Tier::kCause;
  if (!fits && candidate.tier == Tier::kCause) candidate.tier = Tier::kDoubtful;
  return candidate;
}

void add_kernel(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  std::vector<Candidate> more;
  for (const SeenFailure& seen : run.kernel.failures) {
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) {
      return one.cause.failure == seen.failure;
    });
    if (same == candidates.end()) more.push_back(kernel_candidate(seen, run, candidates));
  }
  candidates.insert(candidates.end(), more.begin(), more.end());
}

// Lines of engines have no labels.
void name_first(Cause& cause, const RunKnowledge& run) {
  if (!cause.ranks.empty() || !cause.hosts.empty()) return;
  cause.ranks = {run.first_failed_rank};
  if (!run.first_failed_host.empty()) cause.hosts = {run.first_failed_host};
}

// What a signal means, if nothing else tells more about it.
void add_signal(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  if (!run.fatal_signal) return;
  const FatalSignal& fatal = *run.fatal_signal;
  const auto row = std::find_if(kSignals.begin(), kSignals.end(),
                                [&](const auto& one) { return one.signal == fatal.signal; });
  if (!fatal.memory_ran_out && row == kSignals.end()) return;
  const Failure* failure = catalogue::find(fatal.memory_ran_out ? kMemoryRanOut : row->id);
  const auto told = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) {
    return one.cause.failure == failure ||
           (one.tier == Tier::kCause && one.cause.failure != nullptr &&
            is_memory_kill(*one.cause.failure));
  });
  if (failure == nullptr) return;
  if (told != candidates.end()) return name_first(told->cause, run);
  // A guess at what is known here.
  std::erase_if(candidates, [](const Candidate& one) {
    return one.cause.failure != nullptr && one.cause.failure->id == "worker-sigkill";
  });
  Cause cause{.failure = failure,
              .origin = {.host = run.first_failed_host, .rank = run.first_failed_rank},
              .text = fatal.text};
  name_first(cause, run);
  if (fatal.pid > 0) cause.values["pid"] = std::to_string(fatal.pid);
  const bool is_for_memory = is_killed_for_memory(run, candidates);
  const bool is_only_one = is_for_memory || !names_cause(candidates, run);
  candidates.push_back({.tier = is_only_one ? Tier::kCause : Tier::kDoubtful,
                        .cause = std::move(cause),
                        .is_proven = is_for_memory});
}

bool is_about(const CheckFinding& finding, const Cause& cause) {
  if (cause.failure == nullptr || cause.failure->id != finding.id) return false;
  return finding.hosts.empty() || cause.hosts.empty() ||
         std::any_of(cause.hosts.begin(), cause.hosts.end(),
                     [&](const std::string& host) { return contains(finding.hosts, host); });
}

// What may have made the rank fail, although its output says nothing of it.
bool may_explain(const CheckFinding& finding, const Failure& failure, const RunKnowledge& run) {
  const bool is_mild = failure.symptom == Symptom::kSlow || failure.symptom == Symptom::kWarning;
  const bool is_there = finding.hosts.empty() || run.first_failed_host.empty() ||
                        contains(finding.hosts, run.first_failed_host);
  return failure.kind == catalogue::Kind::kCause && !is_mild && is_there;
}

void add_findings(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  const bool is_explained = has_cause(candidates);
  std::vector<Candidate> more;
  for (const CheckFinding& finding : run.findings) {
    bool is_seen = false;
    for (Candidate& candidate : candidates) {
      if (!is_about(finding, candidate.cause)) continue;
      candidate.cause.found_before = finding.what;
      is_seen = true;
    }
    const Failure* failure = catalogue::find(finding.id);
    if (is_seen || is_explained || failure == nullptr || !may_explain(finding, *failure, run)) {
      continue;
    }
    Cause cause{.failure = failure,
                .text = "check found before the run: " + finding.what,
                .hosts = finding.hosts,
                .order = std::numeric_limits<std::uint64_t>::max()};
    if (finding.hosts.size() == 1) cause.origin.host = finding.hosts.front();
    more.push_back({.tier = finding.is_error ? Tier::kCause : Tier::kDoubtful, .cause = cause});
  }
  candidates.insert(candidates.end(), more.begin(), more.end());
}

bool is_explained(const PartingWords& words, const std::vector<Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    const bool is_same_line = words.place.line != 0 && one.cause.place.line == words.place.line &&
                              one.cause.place.file == words.place.file;
    return is_same_line || (is_of_rank(one.cause, words.origin.rank) &&
                            (one.tier == Tier::kCause || one.cause.exception.has_value()));
  });
}

// The words tell why a rank ended itself; nothing else does.
bool is_reason_of_abort(const PartingWords& words, std::vector<Candidate>& candidates) {
  const auto aborted = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) {
    return one.cause.failure != nullptr && one.cause.failure->id == kAborted &&
           one.cause.place.file.empty() && is_of_rank(one.cause, words.origin.rank);
  });
  if (aborted == candidates.end()) return false;
  aborted->cause.place = words.place;
  aborted->cause.text = words.text;
  return true;
}

// Equal words of several ranks are one cause.
bool add_to_equal(std::vector<Candidate>& candidates, const PartingWords& words) {
  const auto equal = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return is_parting_words(one.cause) && one.cause.text == words.text;
  });
  if (equal == candidates.end()) return false;
  if (words.origin.rank >= 0 && !is_of_rank(equal->cause, words.origin.rank)) {
    equal->cause.ranks.push_back(words.origin.rank);
  }
  if (!words.origin.host.empty() && !contains(equal->cause.hosts, words.origin.host)) {
    equal->cause.hosts.push_back(words.origin.host);
  }
  return true;
}

}  // namespace

void add_parting_words(std::vector<Candidate>& candidates, const std::vector<PartingWords>& words,
                       const RunKnowledge& run) {
  const bool is_known = has_cause(candidates);
  std::vector<Candidate> more;
  for (const PartingWords& one : words) {
    if (!one.before_abort && !run.gave_up_ranks.contains(one.origin.rank)) continue;
    if (is_reason_of_abort(one, candidates)) continue;
    if (is_explained(one, candidates) || add_to_equal(more, one)) continue;
    const bool is_first = one.origin.rank == run.first_failed_rank;
    Cause cause{.place = one.place, .origin = one.origin, .text = one.text, .order = one.order};
    if (one.origin.rank >= 0) cause.ranks = {one.origin.rank};
    if (!one.origin.host.empty()) cause.hosts = {one.origin.host};
    const bool is_cause = !is_known && one.is_labelled && (one.before_abort || is_first);
    more.push_back({.tier = is_cause ? Tier::kCause : Tier::kDoubtful, .cause = std::move(cause)});
  }
  for (Candidate& one : more) std::sort(one.cause.ranks.begin(), one.cause.ranks.end());
  candidates.insert(candidates.end(), more.begin(), more.end());
}

void add_run_evidence(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  add_kernel(candidates, run);
  add_signal(candidates, run);
  add_findings(candidates, run);
}

}  // namespace muster::explain
