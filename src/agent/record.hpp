// What a rank tells the warden of its host, which passes it on to the launcher.
//
// The copied binary is BASE/HASH/muster. All files of a run on a host are in BASE/runs/ID, mode
// 0700: `host` (muster's name for the host), `placement`, the warden's sockets (`socket` for
// launchers that reconnect, `ranks` for the ranks, `environment` for the processes described in
// handout.hpp), `rank.N.jsonl` with the start of rank N, and the files named in run_files.hpp. None
// of them holds the value of a variable. Only the folder of a run that the user starts by hand
// (--dry-run) has `variables` and `env`, mode 0600.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::agent {

// Identifies a process even after its PID has been reused by a later process.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start = 0;  // field 22 of /proc/PID/stat, in ticks since boot

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// The process that has this PID now; nothing if there is none, or only a zombie.
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
[[nodiscard]] bool is_alive(const ProcessId& process);

struct RankStart {
  int rank = 0;
  int local_rank = 0;
  int size = 0;
  ProcessId program;
  ProcessId shim;                         // muster's rank process, the program's parent
  ProcessId daemon;                       // the engine's process that started the rank
  double time_s = 0;                      // Unix time on this host
  std::vector<std::string> remarks = {};  // messages for the user
};

struct RankEnd {
  int rank = 0;
  int status = 0;  // raw wait status of the program
  // Why the program could not be started (`status` is then exit 126 or 127), or that the rank
  // process was killed together with it. Otherwise empty.
  std::string failure = {};
  double time_s = 0;
  double user_s = 0;  // rusage of the program and its children
  double system_s = 0;
  std::int64_t max_rss_kb = 0;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  // How long its output had to wait because the launcher had not yet taken what it printed before.
  double waited_s = 0;
  int left_over = 0;       // descendants that were killed after the program's end
  bool by_engine = false;  // ended by the engine or muster because of another rank
  bool timed_out = false;  // its last output says that it gave up waiting for other ranks
  bool cut_off = false;    // its last output says that it lost its connection to another
  // The kernel had just killed a process on this host because memory ran out.
  bool memory_ran_out = false;
};

// One line, with its newline: {"event":"start",...} or {"event":"end",...}.
[[nodiscard]] std::string to_line(const RankStart& start);
[[nodiscard]] std::string to_line(const RankEnd& end);

struct Event {  // exactly one of them is set
  std::optional<RankStart> start;
  std::optional<RankEnd> end;
};
[[nodiscard]] Result<Event> parse_event(const std::string& line);
constexpr std::size_t kMostEventBytes = std::size_t{64} << 10;  // longest line of an event

// Returns false if a rank, a PID or a count is negative.
[[nodiscard]] bool is_possible(const Event& event);

// BASE: the parent of the folder that holds the running binary. Rank process and warden are the
// same binary and therefore use the same BASE.
[[nodiscard]] Result<std::string> base_folder();
// BASE/runs/ID. Fails if the id does not match [A-Za-z0-9._-]+ or starts with a dot.
[[nodiscard]] Result<std::string> run_folder(const std::string& run_id);

}  // namespace muster::agent
