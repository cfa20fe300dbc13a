// Runs a rank's program: starts it, sends its output to the warden, passes signals on and reports
// how it ended.
//
// The runner is a separate process in its own process group, so that an engine that kills its rank
// does not kill the runner. MPICH and Intel MPI kill what they started at the first sign of an
// abort, long before muster knows which rank aborted and what that rank printed.
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

// A message between the runner and the front process, which the engine started (see rank.cpp). Each
// message is one packet.
struct Note {
  enum class Kind : int { kProgram, kSignal, kStatus };
  Kind kind = Kind::kSignal;
  int value = 0;  // the program's PID, a signal for it, or its raw wait status
};

[[nodiscard]] bool send_note(int socket, Note note);
// Returns nothing if no note has arrived, or if the other side has closed the socket (`closed`).
[[nodiscard]] std::optional<Note> receive_note(int socket, bool& closed);

struct RankJob {
  std::vector<std::string> program;
  Environment environment;
  rankenv::Rank rank;
  std::vector<std::string> remarks = {};
  RunFiles files = {};
  ProcessId daemon = {};     // the engine's daemon
  bool serve_store = false;  // serve PyTorch's store to all ranks, in a separate process
};

// Runs the rank's program and returns its raw wait status after everything has been reported.
// `front` is a socket to the front process.
[[nodiscard]] Result<int> run_rank(const RankJob& job, const SignalGuard& guard, RankVoice& voice,
                                   int front);

}  // namespace muster::agent
