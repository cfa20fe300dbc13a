// Record: what happened. The end of every rank, of the engine and of the hosts; made while a run
// goes on, judged by a pure function, kept in the run's folder.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/record.hpp"
#include "base/error.hpp"

namespace muster::run {

struct RankRecord {
  int rank = 0;
  std::string host;
  std::optional<agent::RankStart> start = std::nullopt;
  std::optional<agent::RankEnd> end = std::nullopt;
  bool cut_off = false;    // it says that it lost the connection to another rank
  bool timed_out = false;  // it says that it waited for others until a timeout
  bool silent = false;     // it failed and wrote nothing to standard error
  // The exit code with which MPI ended it, also if the engine killed it in the middle of that.
  std::optional<int> aborted_with = std::nullopt;
};

[[nodiscard]] inline bool is_running(const RankRecord& rank) {
  return rank.start && !rank.end;
}

enum class Reason {
  kEngineEnded,  // by itself: the usual end
  kEngineStuck,  // all ranks had ended and the engine had not: muster ended it
  kRankFailed,   // a rank had failed and the engine did not end: muster ended it
  kHostLost,
  kAgentFailed,  // muster's agent on a host could not do its work
  kStalled,      // no rank said anything for too long
  kTimeout,
  kInterrupted,  // a signal to muster
};

struct Record {
  std::string id;
  std::string name = {};           // that --name gave the run
  int attempt = 0;                 // how often it was started before
  std::string restart_of = {};     // id of the attempt before; empty: this is the first
  std::string started_again = {};  // why it was, after this attempt; empty: it was not
  std::string command = {};        // as the user gave it
  std::string engine = {};         // "Open MPI 5.0.11"
  // The engine starts ranks that failed again, and goes on with fewer hosts: how it ends itself is
  // then what counts.
  bool engine_restarts = false;
  bool engine_unseen = false;  // its connection broke, so how it ended is unknown
  double started_s = 0;        // Unix time
  double ended_s = 0;          // 0: not yet
  Reason reason = Reason::kEngineEnded;
  int signal = 0;                  // the one that interrupted
  double timeout_s = 0;            // the one that passed
  double stalled_s = 0;            // how long nothing was said
  std::string stalled = {};        // what the ranks were doing then, in words
  bool time_out_was_seen = false;  // what the ranks did while one ended with a time-out
  int engine_code = 0;
  int engine_signal = 0;
  std::string failure = {};  // of the agent
  std::vector<std::string> lost_hosts = {};
  std::map<std::string, double> clock_ahead_s = {};  // of each host's clock
  std::vector<RankRecord> ranks = {};  // by rank, without a gap; in a pod only its own
  std::map<std::string, std::vector<std::string>> kernel_log = {};  // of hosts, as far as it tells
  std::set<int> held_back = {};  // ranks that wrote to standard error after the first failure
};

struct Verdict {
  int code = 0;           // muster's exit code
  std::string text = {};  // what happened, for people; empty: all went well
  std::string hint = {};
  int first_failed_rank = -1;
  std::string failed_host = {};  // of the rank whose own exit code this is; empty: it is muster's
  bool of_engine = false;        // the engine's output tells more
  // Last lines of the failed rank's standard error, or of the engine.
  std::vector<std::string> quoted = {};
  bool quoted_above = false;  // the screen already shows them last
  // Last lines of the engine that are not among these.
  std::vector<std::string> engine_said = {};
};

// The end of the output of a run that failed: from the verdict to whose exit code it is.
constexpr std::size_t kEndingLines = 12;
constexpr std::size_t kEndingWidth = 80;

// "muster: " and the text, in at most `most` lines of that width.
[[nodiscard]] std::vector<std::string> muster_lines(const std::string& text, std::size_t most);

// The first failing rank is the one whose end came first, clocks corrected. One that was cut off is
// not, if another failed by itself. If ranks gave up waiting and exactly one rank was not waiting,
// that one is named as the cause. Pure.
[[nodiscard]] Verdict judge(const Record& record);

// The first failing rank of the record; null: none failed.
[[nodiscard]] const RankRecord* first_failed(const Record& record);

// The rank whose standard error tells most: the one that failed first. If that one is silent,
// another may have said why for all of them, as programs do in which rank 0 alone reports errors.
// -1: no rank has said why.
[[nodiscard]] int telling_rank(const Record& record, const RankRecord& first);

// `reported`: ranks that the engine says were cut off. Open MPI reports such an error once, however
// many ranks have it: those that exited with the same code count too.
void mark_cut_off(Record& record, const std::set<int>& reported);

// By SIGKILL.
[[nodiscard]] bool was_killed(int wait_status);

// "exit code 3", "signal 11 (Segmentation fault)".
[[nodiscard]] std::string describe_status(int wait_status);

[[nodiscard]] std::string to_json(const Record& record, const Verdict& verdict);

// How the rank ended whose exit code a run has.
struct FirstEnd {
  int status = 0;  // wait status
  int pid = 0;
  bool memory_ran_out = false;
  bool by_engine = false;
  std::int64_t max_rss_kb = 0;
};

// What `muster runs` shows of a finished run; read from its record.
struct Summary {
  std::string id;
  std::string command;
  std::string engine;
  double started_s = 0;
  double ended_s = 0;
  int ranks = 0;
  int code = 0;
  std::string text;
  std::string started_again = {};  // why; empty: it was not
  std::vector<std::string> hosts = {};
  bool interrupted = false;      // by a signal to muster
  bool ended_by_muster = false;  // likewise, or because of --timeout or a stall
  std::string code_of = {};      // "rank" or "muster"; empty: an older muster wrote it
  int failed_rank = -1;          // whose code it is; -1: muster's own
  std::string failed_host = {};  // of that rank
  std::map<std::string, std::vector<int>> ends = {};  // the ranks that ended so: "exit code 3"
  std::set<int> gave_up_ranks = {};                   // by themselves: an exit code, or abort()
  std::optional<FirstEnd> first_end = {};             // of failed_rank
};
[[nodiscard]] Result<Summary> parse_summary(const std::string& json);

}  // namespace muster::run
