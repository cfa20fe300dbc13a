// What a rank tells the warden of its host, which passes it on to the launcher.
//
// The pushed binary is BASE/HASH/muster. All files of a run on that host are in BASE/runs/ID, mode
// 0700: `host` (the name that muster calls the host by), `placement`, the warden's sockets
// (`socket` for launchers that reconnect, `ranks` for the ranks, `environment` for what handout.hpp
// says), and `rank.N.jsonl` with the start of rank N. None of them holds the value of a variable.
// Only the folder of a run that the user starts by hand (--dry-run) has `variables` and `env`, mode
// 0600.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::agent {

// A process that cannot be taken for a later one with the same number.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start = 0;  // field 22 of /proc/PID/stat, in ticks since boot

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// The process with that pid as it is now; nothing: there is none (or only a zombie).
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
[[nodiscard]] bool is_alive(const ProcessId& process);

struct RankStart {
  int rank = 0;
  int local_rank = 0;
  int size = 0;
  ProcessId program;
  ProcessId shim;                         // muster's, the program's parent
  ProcessId daemon;                       // the engine's, which started the rank
  double time_s = 0;                      // Unix time here
  std::vector<std::string> remarks = {};  // from muster to the user
};

struct RankEnd {
  int rank = 0;
  int status = 0;  // raw wait status of the program
  std::string failure =
      {};  // why the program could not be started; then `status` is exit 126 or 127
  double time_s = 0;
  double user_s = 0;  // rusage of the program and its children
  double system_s = 0;
  std::int64_t max_rss_kb = 0;
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  int left_over = 0;            // descendants killed after the end
  bool by_engine = false;       // ended by the engine or muster because of another rank
  bool timed_out = false;       // it gave up because others did not come, by its last words
  bool cut_off = false;         // likewise: the connection to another rank broke
  bool memory_ran_out = false;  // the kernel had just killed a process on the host for that
};

// One line, with its newline: {"event":"start",...} or {"event":"end",...}.
[[nodiscard]] std::string to_line(const RankStart& start);
[[nodiscard]] std::string to_line(const RankEnd& end);

struct Event {  // exactly one of them
  std::optional<RankStart> start;
  std::optional<RankEnd> end;
};
[[nodiscard]] Result<Event> parse_event(const std::string& line);
constexpr std::size_t kMostEventBytes = std::size_t{64} << 10;  // of a line

[[nodiscard]] bool is_possible(const Event& event);  // no number is below zero that cannot be

// BASE of the running binary: the folder above its own, so that shim and warden meet.
[[nodiscard]] Result<std::string> base_folder();
// BASE/runs/ID; refuses an id that is not [A-Za-z0-9._-]+ or starts with a dot.
[[nodiscard]] Result<std::string> run_folder(const std::string& run_id);

}  // namespace muster::agent
