// Record: what happened in a run. It holds the end of every rank, of the engine and of the hosts.
// It is filled during the run, judged by a pure function, and stored in the run's folder.
#pragma once

#include <cstdint>
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
  bool cut_off = false;    // it printed that it lost the connection to another rank
  bool timed_out = false;  // it printed that it waited for others until a time-out
  bool silent = false;     // it failed and wrote nothing to standard error
  // The exit code with which MPI was ending the rank, even if the engine killed it meanwhile.
  std::optional<int> aborted_with = std::nullopt;
};

[[nodiscard]] inline bool is_running(const RankRecord& rank) {
  return rank.start && !rank.end;
}

enum class Reason {
  kEngineEnded,  // by itself, as usual
  kEngineStuck,  // all ranks had ended but not the engine, so muster ended it
  kRankFailed,   // a rank had failed and the engine did not end, so muster ended it
  kHostLost,
  kAgentFailed,  // muster's agent on a host failed, or the engine did not start
  kStalled,      // no rank printed anything for too long
  kTimeout,
  kInterrupted,  // by a signal to muster
};

struct Record {
  std::string id;
  std::string name = {};           // the run's --name
  int attempt = 0;                 // number of earlier attempts
  std::string restart_of = {};     // id of the previous attempt; empty: this is the first
  std::string started_again = {};  // why another attempt followed; empty: none did
  std::string command = {};        // as the user typed it
  std::string engine = {};         // "Open MPI 5.0.11"
  // Whether the engine restarts failed ranks and continues with fewer hosts. If so, its own exit
  // decides how the run ended.
  bool engine_restarts = false;
  bool engine_unseen = false;  // our connection to it broke, so its end is unknown
  double started_s = 0;        // Unix time
  double ended_s = 0;          // 0: still running
  Reason reason = Reason::kEngineEnded;
  int signal = 0;            // the signal that interrupted it
  double timeout_s = 0;      // the --timeout that passed
  double stalled_s = 0;      // how long no rank printed anything
  std::string stalled = {};  // what the ranks were doing then, in words
  // Whether muster saw what the ranks did while one of them timed out.
  bool time_out_was_seen = false;
  int engine_code = 0;
  int engine_signal = 0;
  std::string failure = {};  // why the agent failed or the engine could not be started
  std::vector<std::string> lost_hosts = {};
  // How long no host answered, if that is why hosts count as lost.
  double all_silent_s = 0;
  std::map<std::string, double> clock_ahead_s = {};  // by host: how far its clock is ahead
  std::vector<RankRecord> ranks = {};  // in order, without a gap; in a pod only the pod's own
  std::map<std::string, std::vector<std::string>> kernel_log = {};  // by host, where it can be read
  std::uint64_t dropped_bytes = 0;  // of the stored lines, because of --log-limit
  std::set<int> held_back = {};     // ranks with standard error that was held back from the screen
};

struct Verdict {
  int code = 0;           // muster's exit code
  std::string text = {};  // what happened, for people; empty on success
  std::string hint = {};
  int first_failed_rank = -1;
  std::string failed_host = {};  // the host of that rank; empty if the exit code is muster's own
  bool of_engine = false;        // the engine's output has more information
  // The last lines of the failed rank's standard error, or of the engine's output.
  std::vector<std::string> quoted = {};
  bool quoted_above = false;  // they are also the last lines on the screen
  // The engine's last lines that are not in `quoted`.
  std::vector<std::string> engine_said = {};
};

// Limits for the final message of a failed run: from the verdict to the line that says whose exit
// code it is.
constexpr std::size_t kEndingLines = 12;
constexpr std::size_t kEndingWidth = 80;

// Returns "muster: " and the text, in at most `most` lines of at most kEndingWidth characters.
[[nodiscard]] std::vector<std::string> muster_lines(const std::string& text, std::size_t most);

// Finds the cause. The first failing rank is the one that ended first, corrected for clock
// differences. A rank that was cut off is not the first if another failed by itself. If ranks timed
// out waiting and exactly one rank was not waiting, that rank is named as the cause. Pure.
[[nodiscard]] Verdict judge(const Record& record);

// The first failing rank of the record; null if none failed.
[[nodiscard]] const RankRecord* first_failed(const Record& record);

// The rank whose standard error says most: normally the first that failed. If that one printed
// nothing, another may have said why for all ranks, as in programs where only rank 0 reports
// errors. -1 if no rank has said why.
[[nodiscard]] int telling_rank(const Record& record, const RankRecord& first);

// Sets RankRecord::cut_off. `reported` are the ranks that the engine reports as cut off. Open MPI
// reports such an error once, no matter how many ranks have it, so ranks that exited with the same
// code count too.
void mark_cut_off(Record& record, const std::set<int>& reported);

// Whether SIGKILL ended the process.
[[nodiscard]] bool was_killed(int wait_status);

// Returns "exit code 3" or "signal 11 (Segmentation fault)".
[[nodiscard]] std::string describe_status(int wait_status);

[[nodiscard]] std::string to_json(const Record& record, const Verdict& verdict);

// The end of the rank that gave the run its exit code.
struct FirstEnd {
  int status = 0;  // wait status
  int pid = 0;
  bool memory_ran_out = false;
  bool by_engine = false;
  std::int64_t max_rss_kb = 0;
};

// What other commands need from the stored record of a finished attempt.
struct Summary {
  std::string id;
  std::string command;
  std::string engine;
  double started_s = 0;
  double ended_s = 0;
  int ranks = 0;
  int code = 0;
  std::string text;
  std::string started_again = {};  // why another attempt followed; empty: none did
  std::vector<std::string> hosts = {};
  bool interrupted = false;      // by a signal to muster
  bool ended_by_muster = false;  // by a signal to muster, --timeout or a stall
  std::string code_of = {};      // "rank" or "muster"; empty in records of an older muster
  int failed_rank = -1;          // the rank whose exit code it is; -1: the code is muster's own
  std::string failed_host = {};  // of that rank
  // The ranks that ended in each way. The key describes it, such as "exit code 3"; it is "" for
  // ranks whose end was not reported.
  std::map<std::string, std::vector<int>> ends = {};
  // Ranks that ended by themselves, with an exit code other than 0 or abort()
  std::set<int> gave_up_ranks = {};
  std::optional<FirstEnd> first_end = {};  // of failed_rank
};
[[nodiscard]] Result<Summary> parse_summary(const std::string& json);

}  // namespace muster::run
