// Inspects the ranks of a run on this host in a separate process: an inspection may take seconds,
// and the warden must not wait for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

#include "inspect/inspection.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// The folder, in the run's folder, of the sockets on which ranks report their collectives.
constexpr const char* kRecorders = "/recorders";

// How long a rank delays its exit if a time-out or a broken connection ended its program. The
// engine would end the other ranks as soon as it sees the exit, and the launcher must first inspect
// what they are doing.
constexpr std::chrono::milliseconds kEvidenceTakes{3500};

// What an inspection is to do.
struct Inspection {
  int number = 0;           // the answer repeats this number
  int window_ms = 1000;     // how long the ranks are watched
  int sample_every_ms = 0;  // how often their recorders are read in that time; 0: never
  bool stacks = true;       // false: only a glance that starts no other program
  bool ask_nccl = false;    // ask NCCL about the whole job, for which one host is enough

  // How long the launcher must wait for the answer.
  [[nodiscard]] std::chrono::milliseconds takes_at_most() const;

  friend bool operator==(const Inspection&, const Inspection&) = default;
};

template <class V>
void fields(V& v, Inspection& i) {
  v("number", i.number), v("window_ms", i.window_ms), v("sample_every_ms", i.sample_every_ms);
  v("stacks", i.stacks), v("ask_nccl", i.ask_nccl);
}

// The inspector's process, and the pipe to which it writes one HostView as a line of JSON.
struct Inspector {
  pid_t pid = 0;
  sys::Fd out;
};

// Starts an inspector. `pid` is 0 if that failed.
[[nodiscard]] Inspector start_inspector(const std::string& run_id, const Inspection& what);
// On SIGTERM the inspector ends the tools that it has started, resumes the ranks that they stopped,
// and ends. On SIGKILL it ends at once, and so do its tools.
void signal_inspector(pid_t pid, int signal);
// Whether the inspector has ended. Never waits.
[[nodiscard]] bool inspector_ended(pid_t pid);

// The view as a line of at most `most_bytes`. If it is too long, leaves out connections first, then
// finished operations, then native stacks, and in the end everything. Pure.
[[nodiscard]] std::string line_within(inspect::HostView view, std::size_t most_bytes);

// Implements `muster agent --inspect RUN_ID INSPECTION`.
[[nodiscard]] int inspect_main(int argc, char** argv);

}  // namespace muster::agent
