// Runs a rank's program: starts it, sends its output to the warden, passes signals on and reports
// how it ended.
//
// The runner is a separate process in its own process group, so that an engine that kills its rank
// does not kill the runner. MPICH and Intel MPI kill what they started at the first sign of an
// abort, long before anybody knows which rank aborted and what it printed.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/program.hpp"
#include "agent/rank_voice.hpp"
#include "agent/run_files.hpp"
#include "agent/signals.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "rankenv/rank.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// A message between runner and front, one packet each.
struct Note {
  enum class Kind : int { kProgram, kSignal, kStatus };
  Kind kind = Kind::kSignal;
  int value = 0;  // the program's pid; a signal for it; its raw wait status
};

[[nodiscard]] bool send_note(int socket, Note note);
// Nothing if no note has arrived, or if the other side is gone (`closed`).
[[nodiscard]] std::optional<Note> receive_note(int socket, bool& closed);

struct RankJob {
  std::vector<std::string> program;
  Environment environment;
  rankenv::Rank rank;
  std::vector<std::string> remarks = {};
  RunFiles files = {};
  ProcessId daemon = {};     // the engine's
  bool serve_store = false;  // for all ranks, in a process of its own
};

// Returns the program's raw wait status once all is reported. `front`: a socket to the front.
[[nodiscard]] Result<int> run_rank(const RankJob& job, const SignalGuard& guard, RankVoice& voice,
                                   int front);

}  // namespace muster::agent
