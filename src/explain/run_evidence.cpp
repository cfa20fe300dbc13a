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
  std::string_view id;  // in the failure catalogue
  bool is_crash = true;
  bool may_follow = false;  // an error in the kernel's log may be the reason for it
};
constexpr std::array kSignals = {
    SignalRow{.signal = SIGKILL, .id = "rank-killed-from-outside", .is_crash = false},
    SignalRow{.signal = SIGTERM, .id = "rank-killed-from-outside", .is_crash = false},
    SignalRow{.signal = SIGSEGV, .id = "program-segfault"},
    SignalRow{.signal = SIGFPE, .id = "rank-arithmetic-error"},
    SignalRow{.signal = SIGABRT, .id = kAborted, .may_follow = true},
    SignalRow{.signal = SIGBUS, .id = "rank-bus-error", .may_follow = true},
    SignalRow{.signal = SIGILL, .id = "mixed-cpu-isa"},
};

// Returns what the signal means; nullptr if nothing is known.
const SignalRow* row_of(int signal) {
  const auto row = std::find_if(kSignals.begin(), kSignals.end(),
                                [&](const SignalRow& one) { return one.signal == signal; });
  return row == kSignals.end() ? nullptr : &*row;
}

bool contains(const std::vector<std::string>& hosts, const std::string& host) {
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

bool has_cause(const std::vector<Candidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& one) {
    return one.tier == Tier::kCause && one.doubt == nullptr;
  });
}

bool is_memory_kill(const Failure& failure) {
  return failure.id == "host-oom-kill" || failure.id == "cgroup-oom-kill";
}

// Whether an error of the GPU that the kernel's log shows may have caused this one. Excludes GPU
// memory that ran out, which belongs to another topic of the catalogue.
bool is_gpu_error(const Cause& cause) {
  constexpr std::array kWords = {"CUDA", "cuda", "NCCL", "GPU", "HIP"};
  return (cause.failure == nullptr || cause.failure->topic == "gpus") &&
         std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* word) { return cause.text.find(word) != std::string::npos; });
}

// Whether an error in the kernel's log may be the reason for what the output shows and for the
// signal.
bool may_be_behind(const Failure& failure, const RunKnowledge& run,
                   const std::vector<Candidate>& of_output) {
  const SignalRow* const row = run.fatal_signal ? row_of(run.fatal_signal->signal) : nullptr;
  if (row != nullptr && !row->may_follow) return false;
  return std::all_of(of_output.begin(), of_output.end(), [&](const Candidate& one) {
    return one.tier != Tier::kCause || (failure.topic == "gpus" && is_gpu_error(one.cause));
  });
}

// Whether the driver's message names the rank's process, as in "NVRM: Xid (PCI:0000:18:00): 31,
// pid=4711, name=".
bool names_process(std::string_view text, int pid) {
  return pid > 0 && text.find(fmt::format(" pid={},", pid)) != std::string_view::npos;
}

// Whether the output shows a cause that concerns, or may concern, the rank that failed first.
bool names_cause(const std::vector<Candidate>& of_output, const RunKnowledge& run) {
  return std::any_of(of_output.begin(), of_output.end(), [&](const Candidate& one) {
    return one.tier == Tier::kCause && one.doubt == nullptr &&
           (one.cause.ranks.empty() || is_of_rank(one.cause, run.first_failed_rank));
  });
}

// Whether the rank failed because the kernel killed a process for lack of memory: the rank itself,
// or one of its children if the output shows no other cause.
bool is_killed_for_memory(const RunKnowledge& run, const std::vector<Candidate>& of_output) {
  if (!run.fatal_signal || !run.fatal_signal->memory_ran_out) return false;
  return run.fatal_signal->signal == SIGKILL || !names_cause(of_output, run);
}

// Returns the failures in the kernel's log that are not among `known`.
std::vector<Candidate> new_candidates(const Evidence& kernel, const std::vector<Candidate>& known) {
  std::vector<Candidate> found;
  for (const SeenFailure& seen : kernel.failures) {
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const Candidate& one) {
      return one.cause.failure == seen.failure;
    });
    if (is_known) continue;
    const Sighting& first = seen.first.front();
    found.push_back({.tier = tier_of(*seen.failure),
                     .cause = {.failure = seen.failure,
                               .place = first.place,
                               .origin = first.origin,
                               .text = first.text,
                               .hosts = {seen.hosts.begin(), seen.hosts.end()},
                               .values = first.values}});
  }
  return found;
}

// Rates a failure from the kernel's log, which may belong to another program or another time.
void judge_kernel(Candidate& candidate, const RunKnowledge& run,
                  const std::vector<Candidate>& of_output) {
  if (candidate.tier != Tier::kCause) return;
  const Failure& failure = *candidate.cause.failure;
  const bool was_killed = run.fatal_signal && run.fatal_signal->signal == SIGKILL;
  const bool is_kill = is_memory_kill(failure);
  const bool is_about_rank = is_kill ? is_killed_for_memory(run, of_output)
                                     : names_process(candidate.cause.text, run.first_failed_pid);
  const bool fits = is_kill ? was_killed || is_about_rank : may_be_behind(failure, run, of_output);
  candidate.is_proven = fits && is_about_rank;
  if (!fits) candidate.tier = Tier::kDoubtful;
  if (fits && !is_about_rank) {
    candidate.doubt = is_kill ? "the kernel may have killed another process on the host"
                              : "the kernel's message may not be about this rank";
  }
}

void add_kernels(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  std::vector<Candidate> here = new_candidates(run.kernel, candidates);
  for (Candidate& one : here) judge_kernel(one, run, candidates);
  candidates.insert(candidates.end(), here.begin(), here.end());
  std::vector<Candidate> elsewhere = new_candidates(run.other_kernels, candidates);
  for (Candidate& one : elsewhere) one.tier = std::max(one.tier, Tier::kDoubtful);
  candidates.insert(candidates.end(), elsewhere.begin(), elsewhere.end());
}

// Adds the rank that failed first, and its host, to a cause from an engine's line, which has no
// label.
void name_first(Cause& cause, const RunKnowledge& run) {
  if (!cause.ranks.empty() || !cause.hosts.empty()) return;
  cause.ranks = {run.first_failed_rank};
  if (!run.first_failed_host.empty()) cause.hosts = {run.first_failed_host};
}

// Adds the meaning of the signal, unless another candidate explains it better.
void add_signal(std::vector<Candidate>& candidates, const RunKnowledge& run) {
  if (!run.fatal_signal) return;
  const FatalSignal& fatal = *run.fatal_signal;
  const SignalRow* const row = row_of(fatal.signal);
  if (!fatal.memory_ran_out && row == nullptr) return;
  const Failure* failure = catalogue::find(fatal.memory_ran_out ? kMemoryRanOut : row->id);
  const auto told = std::find_if(candidates.begin(), candidates.end(), [&](const auto& one) {
    return one.cause.failure == failure ||
           (one.tier == Tier::kCause && one.cause.failure != nullptr &&
            is_memory_kill(*one.cause.failure));
  });
  if (failure == nullptr) return;
  if (told != candidates.end()) return name_first(told->cause, run);
  // "worker-sigkill" only guesses why a worker was killed, and here the reason is known.
  std::erase_if(candidates, [](const Candidate& one) {
    return one.cause.failure != nullptr && one.cause.failure->id == "worker-sigkill";
  });
  Cause cause{.failure = failure,
              .origin = {.host = run.first_failed_host, .rank = run.first_failed_rank},
              .text = fatal.text};
  name_first(cause, run);
  if (run.first_failed_pid > 0) cause.values["pid"] = std::to_string(run.first_failed_pid);
  const bool is_for_memory = is_killed_for_memory(run, candidates);
  const bool is_only_one = is_for_memory || !names_cause(candidates, run);
  candidates.push_back({.tier = is_only_one ? Tier::kCause : Tier::kDoubtful,
                        .cause = std::move(cause),
                        .is_proven = is_for_memory,
                        .is_crash = !fatal.memory_ran_out && row->is_crash});
}

bool is_about(const CheckFinding& finding, const Cause& cause) {
  if (cause.failure == nullptr || cause.failure->id != finding.id) return false;
  return finding.hosts.empty() || cause.hosts.empty() ||
         std::any_of(cause.hosts.begin(), cause.hosts.end(),
                     [&](const std::string& host) { return contains(finding.hosts, host); });
}

// Whether the finding may be the reason why the rank failed, although its output does not show it.
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

// If the rank ended itself by abort() and nothing else says why, uses its last words as evidence
// and returns true.
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

// If a candidate has the same words, adds the rank and host to it and returns true.
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
  add_kernels(candidates, run);
  add_signal(candidates, run);
  add_findings(candidates, run);
}

}  // namespace muster::explain
