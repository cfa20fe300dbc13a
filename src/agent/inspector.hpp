// A process that looks into the ranks of a run on this host, beside the warden: it may take
// seconds, and the warden must not wait for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

#include "inspect/inspection.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// In the run's folder: the sockets on which ranks tell of their collectives.
constexpr const char* kRecorders = "/recorders";

// For so long a rank that ended with a time-out keeps it from its engine, which would end the other
// ranks: the launcher looks at what they do.
constexpr std::chrono::milliseconds kEvidenceTakes{3500};

// What is wanted of an inspection.
struct Inspection {
  int number = 0;           // which one this is; its answer repeats it
  int window_ms = 1000;     // how long the ranks are watched
  int sample_every_ms = 0;  // how often their recorders are read meanwhile; 0: not
  bool stacks = true;       // false: a glance that starts no other program
  bool ask_nccl = false;    // about the whole job: one host is enough

  // Until the answer must be there.
  [[nodiscard]] std::chrono::milliseconds takes_at_most() const;

  friend bool operator==(const Inspection&, const Inspection&) = default;
};

template <class V>
void fields(V& v, Inspection& i) {
  v("number", i.number), v("window_ms", i.window_ms), v("sample_every_ms", i.sample_every_ms);
  v("stacks", i.stacks), v("ask_nccl", i.ask_nccl);
}

// The process, and what it writes: one HostView as a line of JSON.
struct Inspector {
  pid_t pid = 0;
  sys::Fd out;
};

// No pid: it could not be started.
[[nodiscard]] Inspector start_inspector(const std::string& run_id, const Inspection& what);
// SIGTERM: it ends what it has started, makes the ranks that this stopped continue, and ends.
// SIGKILL: it ends at once, with what it has started.
void signal_inspector(pid_t pid, int signal);
// Whether it has ended; never waits. True once per inspector.
[[nodiscard]] bool inspector_ended(pid_t pid);

// The view as a line of at most `most_bytes`. If there is too much, leaves out connections, then
// operations that are done, then native stacks, and in the end everything. Pure.
[[nodiscard]] std::string line_within(inspect::HostView view, std::size_t most_bytes);

// What `muster agent --inspect RUN_ID INSPECTION` does.
[[nodiscard]] int inspect_main(int argc, char** argv);

}  // namespace muster::agent
