#include "run/record.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "base/exit_code.hpp"
#include "base/json_fields.hpp"
#include "hosts/fold.hpp"
#include "report/wrap.hpp"

namespace muster::run {
namespace {

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The rank's end, or an empty one if it still runs.
const agent::RankEnd& end_of(const RankRecord& rank) {
  static const agent::RankEnd none;
  return rank.end ? *rank.end : none;
}

// The rank's wait status. If MPI was ending the rank with a certain exit code, the wait status for
// that exit code.
int status_of(const RankRecord& rank) {
  return rank.aborted_with ? W_EXITCODE(*rank.aborted_with, 0) : end_of(rank).status;
}

bool failed(const RankRecord& rank) {
  return end_of(rank).status != 0;
}

// Whether the rank failed for a reason of its own: not for lack of a connection, and not by a
// signal with which engines end the other ranks.
bool failed_by_itself(const RankRecord& rank) {
  const int status = status_of(rank);
  const bool ended_by_others = WIFSIGNALED(status) && !end_of(rank).memory_ran_out &&
                               (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL);
  const bool by_engine = end_of(rank).by_engine && !rank.aborted_with;
  return failed(rank) && !rank.cut_off && !by_engine && !ended_by_others;
}

// When the rank ended, by the launcher's clock. A single beat compares clocks less exactly than NTP
// keeps them, so small differences are ignored. A late beat makes a clock look slow, never fast, so
// a larger difference is ignored for a clock that looks slow.
double corrected_end(const Record& record, const RankRecord& rank) {
  constexpr double kFasterSeconds = 0.25;
  constexpr double kSlowerSeconds = 1;
  const auto ahead = record.clock_ahead_s.find(rank.host);
  const bool off = ahead != record.clock_ahead_s.end() &&
                   (ahead->second > kFasterSeconds || ahead->second < -kSlowerSeconds);
  return end_of(rank).time_s - (off ? ahead->second : 0);
}

std::string how_many(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  std::vector<int> shown = ranks;
  shown.resize(std::min(ranks.size(), kMost));
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(shown, ", "),
                     ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "");
}

std::string memory_text(const RankRecord& rank) {
  if (!end_of(rank).memory_ran_out) return {};
  return was_killed(end_of(rank).status)
             ? ": the kernel killed it because memory ran out"
             : " after the kernel had killed a process on that host because memory ran out";
}

std::string describe_failure(const RankRecord& rank) {
  if (!end_of(rank).failure.empty() && !rank.aborted_with) {
    return fmt::format("rank {} on {}: {}", rank.rank, rank.host, end_of(rank).failure);
  }
  return fmt::format("rank {} on {} ended with {}{}", rank.rank, rank.host,
                     describe_status(status_of(rank)), memory_text(rank));
}

// Says how many other ranks failed after the first one.
std::string others_text(const Record& record, const RankRecord& first) {
  std::vector<int> others;
  for (const RankRecord& rank : record.ranks) {
    if (failed(rank) && &rank != &first) others.push_back(rank.rank);
  }
  if (others.empty()) return {};
  return fmt::format("; {} of {} failed after it", how_many(others.size(), "rank"),
                     record.ranks.size());
}

std::string log_hint(const Record& record, const RankRecord& rank) {
  const std::string own =
      fmt::format("to see its output: muster logs {} --rank {}", record.id, rank.rank);
  const int teller = telling_rank(record, rank);
  if (teller == rank.rank) return own;
  if (teller < 0) {
    return fmt::format(
        "{}; rank {} wrote nothing to stderr; to see what the others wrote: muster logs {} --err",
        own, rank.rank, record.id);
  }
  return fmt::format(
      "{}; rank {} wrote nothing to stderr; to see what rank {} wrote: muster logs {} --rank {}",
      own, rank.rank, teller, record.id, teller);
}

// The only rank that was not waiting for others when `waiter` gave up; null if there are several or
// none.
const RankRecord* kept_waiting(const Record& record, const RankRecord& waiter) {
  const RankRecord* found = nullptr;
  for (const RankRecord& rank : record.ranks) {
    if (&rank == &waiter || rank.timed_out || rank.cut_off) continue;
    if (rank.end && corrected_end(record, rank) < corrected_end(record, waiter)) continue;
    if (found) return nullptr;
    found = &rank;
  }
  return found;
}

std::string waits_hint(const Record& record) {
  if (record.time_out_was_seen) {
    return "to see what it did while the others waited: muster why " + record.id;
  }
  return "to see what the rank does while the others wait, pass --stall-after with a shorter time "
         "than the timeout";
}

Verdict gave_up_waiting(const Record& record, const RankRecord& waiter, const RankRecord& cause) {
  return {.code = code_of(end_of(waiter).status),
          .text = fmt::format(
              "rank {} on {} kept the other ranks waiting until they timed out (first failure: {})",
              cause.rank, cause.host, describe_failure(waiter)),
          .hint = fmt::format("to see the rank's output: muster logs {} --rank {}; {}", record.id,
                              cause.rank, waits_hint(record)),
          .first_failed_rank = waiter.rank,
          .failed_host = waiter.host};
}

bool says_why(const RankRecord& rank) {
  return !end_of(rank).failure.empty() && !rank.aborted_with;
}

// Whether muster could not start the rank's program, so that the exit code is not the program's.
bool never_ran(const RankRecord& rank) {
  return says_why(rank) && !WIFSIGNALED(end_of(rank).status);
}

std::string failure_hint(const Record& record, const RankRecord& first) {
  if (says_why(first)) return {};
  if (!end_of(first).memory_ran_out) return log_hint(record, first);
  const double most_gib = static_cast<double>(end_of(first).max_rss_kb) / (1 << 20);
  return fmt::format(
      "the rank itself used up to {:.1f} GiB; use a smaller batch, fewer ranks or fewer DataLoader "
      "workers per host, or raise the memory limit of the container or Slurm job; {}",
      most_gib, log_hint(record, first));
}

Verdict rank_failed(const Record& record, const RankRecord& first) {
  const RankRecord* cause = first.timed_out ? kept_waiting(record, first) : nullptr;
  if (cause) return gave_up_waiting(record, first, *cause);
  return {.code = code_of(status_of(first)),
          .text = describe_failure(first) + others_text(record, first),
          .hint = failure_hint(record, first),
          .first_failed_rank = first.rank,
          .failed_host = never_ran(first) ? "" : first.host};
}

std::set<std::string_view> lost_hosts(const Record& record) {
  return {record.lost_hosts.begin(), record.lost_hosts.end()};
}

// Whether a host was lost while it had ranks. Then this is the cause, even if ranks elsewhere
// failed before: the engine and MPI notice a broken connection long before muster gives the host
// up, and end healthy ranks.
bool lost_with_ranks(const Record& record) {
  const auto lost = lost_hosts(record);
  return std::any_of(record.ranks.begin(), record.ranks.end(),
                     [&](const RankRecord& rank) { return !rank.end && lost.contains(rank.host); });
}

// Returns folded host names such as "n[2-3], gpu5", with a blank wherever a line may break.
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  int depth = 0;
  for (const char c : hosts::fold(names)) {
    text += c;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) text += ' ';
  }
  return text;
}

// Returns "host n2 was" or "hosts n[2-3] were".
std::string were_lost(const Record& record) {
  const bool one = record.lost_hosts.size() == 1;
  return fmt::format("{} {} {}", one ? "host" : "hosts", names_text(record.lost_hosts),
                     one ? "was" : "were");
}

std::string all_silent_text(const Record& record) {
  if (record.all_silent_s <= 0) return {};
  return fmt::format("no host answered for {:.0f} s, so this machine's network was probably down; ",
                     record.all_silent_s);
}

Verdict host_lost(const Record& record) {
  const auto lost = lost_hosts(record);
  std::vector<int> ranks;
  bool all_well = true;
  for (const RankRecord& rank : record.ranks) {
    all_well = all_well && rank.end && !failed(rank);
    if (!rank.end && lost.contains(rank.host)) ranks.push_back(rank.rank);
  }
  if (all_well) {
    return {.code = 0,
            .text = fmt::format("all ranks succeeded; then {} lost, and muster ends its processes "
                                "there once it can be reached again",
                                were_lost(record)),
            .hint = {}};
  }
  if (ranks.empty()) {  // its ranks had ended before
    return {.code = kExitOwnFault,
            .text = were_lost(record) + " lost",
            .hint = fmt::format("to see the run's output: muster logs {}", record.id)};
  }
  return {.code = kExitOwnFault,
          .text = fmt::format("{}{} lost with {}", all_silent_text(record), were_lost(record),
                              rank_list(ranks)),
          .hint = fmt::format("to see whether the host is up: muster check -H {}; to see the run's "
                              "output: muster logs {}",
                              hosts::fold(record.lost_hosts), record.id)};
}

std::string engine_end(const Record& record) {
  if (record.engine_signal != 0) {
    return fmt::format("signal {} ({})", record.engine_signal, ::strsignal(record.engine_signal));
  }
  return fmt::format("exit code {}", record.engine_code);
}

// Whether the engine was killed by a signal that muster did not send, so that the ranks died with
// it. An engine that ends because of a rank exits with a code, or by SIGPIPE when its daemons are
// gone (Intel MPI).
bool engine_died(const Record& record) {
  return record.reason == Reason::kEngineEnded && record.engine_signal != 0 &&
         record.engine_signal != SIGPIPE;
}

Verdict engine_died_first(const Record& record) {
  std::vector<int> ranks;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.end || rank.end->status != 0) ranks.push_back(rank.rank);
  }
  return {
      .code = kExitOwnFault,
      .text = fmt::format("{} ended with {} and took {} down with it",
                          record.engine.empty() ? "the engine" : record.engine, engine_end(record),
                          rank_list(ranks)),
      .hint = "to find out what killed the engine, look at dmesg and journalctl on this machine"};
}

bool never_started(const RankRecord& rank) {
  return !rank.start && !rank.end;
}

// Whether some ranks never started, and the engine then ended those that had.
bool engine_gave_up(const Record& record) {
  const auto failed_first = [](const RankRecord& rank) {
    return failed_by_itself(rank) || rank.cut_off;
  };
  return std::any_of(record.ranks.begin(), record.ranks.end(), never_started) &&
         std::none_of(record.ranks.begin(), record.ranks.end(), failed_first);
}

bool engine_ended_well(const Record& record) {
  return record.engine_code == 0 && record.engine_signal == 0;
}

Verdict went_on(const Record& record) {
  if (record.lost_hosts.empty()) return {};
  return {.code = 0,
          .text = fmt::format("the job continued without {}, which was lost",
                              fmt::join(record.lost_hosts, ", ")),
          .hint = {}};
}

// The verdict if neither a failed rank nor a lost host is the cause: checks that every rank was
// started and has ended, and how the engine ended.
Verdict plain_end(const Record& record) {
  std::vector<int> not_started, not_ended;
  for (const RankRecord& rank : record.ranks) {
    if (never_started(rank)) not_started.push_back(rank.rank);
    if (rank.start && !rank.end) not_ended.push_back(rank.rank);
  }
  const std::string engine = record.engine.empty() ? "the engine" : record.engine;
  if (!not_started.empty()) {
    return {.code = kExitOwnFault,
            .text = fmt::format("{} ended with {} and never started {}", engine, engine_end(record),
                                rank_list(not_started)),
            .hint = {},
            .of_engine = true};
  }
  if (!not_ended.empty()) {
    return {.code = kExitOwnFault,
            .text = fmt::format("{} ended with {} before {}", engine, engine_end(record),
                                rank_list(not_ended)),
            .hint = {},
            .of_engine = true};
  }
  const bool ended_by_muster = record.reason == Reason::kEngineStuck;
  if (ended_by_muster || engine_ended_well(record)) return {};
  return {
      .code = kExitOwnFault,
      .text = fmt::format("all ranks succeeded, but {} ended with {}", engine, engine_end(record)),
      .hint = {},
      .of_engine = true};
}

std::string reason_name(Reason reason) {
  switch (reason) {
    case Reason::kEngineEnded:
      return "engine ended";
    case Reason::kEngineStuck:
      return "engine stuck";
    case Reason::kRankFailed:
      return "rank failed";
    case Reason::kHostLost:
      return "host lost";
    case Reason::kAgentFailed:
      return "agent failed";
    case Reason::kStalled:
      return "stalled";
    case Reason::kTimeout:
      return "timeout";
    case Reason::kInterrupted:
      return "interrupted";
  }
  return {};
}

nlohmann::json rank_json(const RankRecord& rank) {
  nlohmann::json value = {{"rank", rank.rank}, {"host", rank.host}};
  if (rank.start) {
    value["pid"] = rank.start->program.pid;
    value["started"] = rank.start->time_s;
  }
  if (rank.end) {
    value["ended"] = end_of(rank).time_s;
    value["status"] = rank.end->status;
    value["end"] = describe_status(rank.end->status);
    value["failure"] = rank.end->failure;
    value["user_s"] = rank.end->user_s;
    value["system_s"] = rank.end->system_s;
    value["max_rss_kb"] = rank.end->max_rss_kb;
    value["out_bytes"] = rank.end->out_bytes;
    value["err_bytes"] = rank.end->err_bytes;
    value["waited_s"] = rank.end->waited_s;
    value["left_over"] = rank.end->left_over;
    value["cut_off"] = rank.cut_off;
    value["timed_out"] = rank.timed_out;
    if (rank.aborted_with) value["aborted_with"] = *rank.aborted_with;
    value["by_engine"] = rank.end->by_engine;
    value["memory_ran_out"] = rank.end->memory_ran_out;
  }
  return value;
}

}  // namespace

// A rank that the engine ended because of another rank counts as first only if the engine ended all
// failed ranks in this way.
const RankRecord* first_failed(const Record& record) {
  const RankRecord* first = nullptr;
  const RankRecord* first_by_itself = nullptr;
  double aborted_at = std::numeric_limits<double>::infinity();
  for (const RankRecord& rank : record.ranks) {
    if (rank.aborted_with) aborted_at = std::min(aborted_at, corrected_end(record, rank));
  }
  const auto is_consequence = [&](const RankRecord& rank) {
    constexpr double kTogetherSeconds = 1;
    const bool killed_with_it = was_killed(end_of(rank).status) && !end_of(rank).memory_ran_out &&
                                corrected_end(record, rank) > aborted_at - kTogetherSeconds;
    return !rank.aborted_with && (end_of(rank).by_engine || killed_with_it);
  };
  const auto is_before = [&](const RankRecord& rank, const RankRecord* other) {
    const auto order = [&](const RankRecord& one) {
      return std::pair(is_consequence(one), corrected_end(record, one));
    };
    return !other || order(rank) < order(*other);
  };
  for (const RankRecord& rank : record.ranks) {
    if (failed(rank) && is_before(rank, first)) first = &rank;
    if (failed_by_itself(rank) && is_before(rank, first_by_itself)) first_by_itself = &rank;
  }
  return first && first->cut_off && first_by_itself ? first_by_itself : first;
}

int telling_rank(const Record& record, const RankRecord& first) {
  if (!first.silent) return first.rank;
  const auto tells = [&](const RankRecord& rank) {
    return record.held_back.contains(rank.rank) && !rank.cut_off && !rank.timed_out;
  };
  const auto found = std::find_if(record.ranks.begin(), record.ranks.end(), tells);
  return found == record.ranks.end() ? -1 : found->rank;
}

void mark_cut_off(Record& record, const std::set<int>& reported) {
  std::set<int> statuses;
  for (const RankRecord& rank : record.ranks) {
    const bool exited = failed(rank) && WIFEXITED(end_of(rank).status);
    if (exited && reported.contains(rank.rank)) statuses.insert(end_of(rank).status);
  }
  for (RankRecord& rank : record.ranks) {
    if (!failed(rank)) continue;
    if (reported.contains(rank.rank) || statuses.contains(end_of(rank).status)) rank.cut_off = true;
  }
}

bool was_killed(int wait_status) {
  return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
}

std::string describe_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("signal {} ({})", signal, ::strsignal(signal));
  }
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

Verdict judge(const Record& record) {
  if (record.engine_restarts && !record.engine_unseen && record.reason == Reason::kEngineEnded &&
      engine_ended_well(record)) {
    return went_on(record);
  }
  if (record.reason == Reason::kInterrupted) {
    return {
        .code = 128 + record.signal,
        .text = fmt::format("ended by signal {} ({})", record.signal, ::strsignal(record.signal)),
        .hint = {}};
  }
  if (record.reason == Reason::kTimeout) {
    return {.code = kExitTimedOut,
            .text = fmt::format("the time limit of {:g} s passed", record.timeout_s),
            .hint = fmt::format("to see the last output of the ranks: muster logs {}", record.id)};
  }
  if (record.reason == Reason::kStalled) {
    return {.code = kExitTimedOut,
            .text = fmt::format("no rank printed anything for {:.0f} s{}{}", record.stalled_s,
                                record.stalled.empty() ? "" : "; ", record.stalled),
            .hint = fmt::format("to see what each rank was doing: {}; to see the last output of "
                                "the ranks: muster logs {}",
                                "muster why " + record.id, record.id)};
  }
  if (record.reason == Reason::kAgentFailed) {
    return {.code = kExitOwnFault, .text = record.failure, .hint = {}};
  }
  const RankRecord* first = first_failed(record);
  const bool lost = !record.lost_hosts.empty();
  if (lost && (!first || record.reason == Reason::kHostLost || lost_with_ranks(record))) {
    return host_lost(record);
  }
  if (first && engine_died(record)) return engine_died_first(record);
  if (first && engine_gave_up(record)) return plain_end(record);
  if (first) return rank_failed(record, *first);
  return plain_end(record);
}

std::vector<std::string> muster_lines(const std::string& text, std::size_t most) {
  constexpr std::string_view kLabel = "muster: ";
  std::vector<std::string> lines = report::cut_lines(text, kEndingWidth - kLabel.size(), most);
  for (std::string& line : lines) {
    line.insert(0, &line == lines.data() ? kLabel : std::string_view("        "));
  }
  return lines;
}

std::string to_json(const Record& record, const Verdict& verdict) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankRecord& rank : record.ranks) ranks.push_back(rank_json(rank));
  const nlohmann::json value = {
      {"schema", 1},
      {"id", record.id},
      {"name", record.name},
      {"attempt", record.attempt},
      {"restart_of", record.restart_of},
      {"started_again", record.started_again},
      {"command", record.command},
      {"engine", record.engine},
      {"started", record.started_s},
      {"ended", record.ended_s},
      {"reason", reason_name(record.reason)},
      {"engine_code", record.engine_code},
      {"engine_signal", record.engine_signal},
      {"lost_hosts", record.lost_hosts},
      {"clock_ahead", record.clock_ahead_s},
      {"ranks", ranks},
      {"dropped_bytes", record.dropped_bytes},
      {"code", verdict.code},
      {"code_of", verdict.failed_host.empty() ? "muster" : "rank"},
      {"verdict", verdict.text},
      {"first_failed_rank", verdict.first_failed_rank},
      {"quoted", verdict.quoted},
  };
  return json_text(value, 1) + "\n";
}

struct SummarizedRank {
  std::optional<int> rank;
  std::string host;
  std::string end;
  std::optional<int> status;
  std::optional<int> pid;
  std::optional<int> aborted_with;
  std::optional<bool> memory_ran_out;
  std::optional<bool> by_engine;
  std::optional<std::int64_t> max_rss_kb;
};

template <class V>
void fields(V& v, SummarizedRank& r) {
  v.maybe("rank", r.rank), v.maybe("host", r.host), v.maybe("end", r.end);
  v.maybe("status", r.status), v.maybe("pid", r.pid), v.maybe("aborted_with", r.aborted_with);
  v.maybe("memory_ran_out", r.memory_ran_out), v.maybe("by_engine", r.by_engine);
  v.maybe("max_rss_kb", r.max_rss_kb);
}

struct SummarizedRecord {
  Summary summary;
  std::string reason;
  std::vector<SummarizedRank> ranks;
};

template <class V>
void fields(V& v, SummarizedRecord& r) {
  Summary& s = r.summary;
  v("id", s.id), v("command", s.command), v("engine", s.engine), v("started", s.started_s);
  v("ended", s.ended_s), v("ranks", r.ranks), v("code", s.code), v("verdict", s.text);
  v.maybe("started_again", s.started_again), v.maybe("reason", r.reason);
  v.maybe("code_of", s.code_of), v.maybe("first_failed_rank", s.failed_rank);
}

namespace {

FirstEnd first_end_of(const SummarizedRank& rank) {
  return {.status = rank.aborted_with ? W_EXITCODE(*rank.aborted_with, 0) : rank.status.value_or(0),
          .pid = rank.pid.value_or(0),
          .memory_ran_out = rank.memory_ran_out.value_or(false),
          .by_engine = rank.by_engine.value_or(false),
          .max_rss_kb = rank.max_rss_kb.value_or(0)};
}

bool gave_up(const FirstEnd& end) {
  const int status = end.status;
  return (WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
         (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && !end.by_engine);
}

}  // namespace

Result<Summary> parse_summary(const std::string& text) {
  MUSTER_TRY(SummarizedRecord record,
             parse_fields<SummarizedRecord>(text, "this is not the record of a run", kOwnFile));
  Summary& summary = record.summary;
  summary.ranks = static_cast<int>(record.ranks.size());
  summary.interrupted = record.reason == reason_name(Reason::kInterrupted);
  summary.ended_by_muster = summary.interrupted || record.reason == reason_name(Reason::kTimeout) ||
                            record.reason == reason_name(Reason::kStalled);
  if (summary.code_of != "rank") summary.failed_rank = -1;
  for (SummarizedRank& rank : record.ranks) {
    if (rank.rank && *rank.rank == summary.failed_rank) {
      summary.failed_host = rank.host;
      summary.first_end = first_end_of(rank);
    }
    const bool is_known = !summary.hosts.empty() && summary.hosts.back() == rank.host;
    if (!rank.host.empty() && !is_known) summary.hosts.push_back(std::move(rank.host));
    if (rank.rank) summary.ends[rank.end].push_back(*rank.rank);
    if (rank.rank && gave_up(first_end_of(rank))) summary.gave_up_ranks.insert(*rank.rank);
  }
  return std::move(summary);
}

}  // namespace muster::run
