// Runs a rank's program: starts it, carries its output to the warden, passes signals on and tells
// how it ended.
//
// It is a process of its own, in a process group of its own, so that an engine that kills its rank
// does not hit it: MPICH and Intel MPI kill what they have started at the first sign of an abort,
// long before anybody could tell which rank it was and what it said.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/program.hpp"
#include "agent/rank_voice.hpp"
#include "agent/signals.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "rankenv/rank.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// What runner and front say to each other, in one packet each.
struct Note {
  enum class Kind : int { kProgram, kSignal, kStatus };
  Kind kind = Kind::kSignal;
  int value = 0;  // the program's pid; a signal for it; its raw wait status
};

[[nodiscard]] bool send_note(int socket, Note note);
// Nothing: none is there, or (`closed`) the other side is gone.
[[nodiscard]] std::optional<Note> receive_note(int socket, bool& closed);

struct RankJob {
  std::vector<std::string> program;
  Environment environment;
  rankenv::Rank rank;
  std::vector<std::string> remarks = {};
  std::string record = {};     // a file for the start, should all of muster be gone later
  std::string over_mark = {};  // a file that says that the run is being ended; empty: none
  ProcessId daemon = {};       // the engine's
};

// The program's raw wait status, when all was told. `front`: the process that the engine started.
[[nodiscard]] Result<int> run_rank(const RankJob& job, const SignalGuard& guard, RankVoice& voice,
                                   int front);

}  // namespace muster::agent
