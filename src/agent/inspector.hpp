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

// What is wanted of an inspection.
struct Inspection {
  int number = 0;           // which one this is; its answer repeats it
  int window_ms = 1000;     // how long the ranks are watched
  int sample_every_ms = 0;  // how often their recorders are read meanwhile; 0: not
  bool stacks = true;       // false: a glance that starts no other program

  // Until the answer must be there.
  [[nodiscard]] std::chrono::milliseconds takes_at_most() const;

  friend bool operator==(const Inspection&, const Inspection&) = default;
};

// The process, and what it writes: one HostView as a line of JSON.
struct Inspector {
  pid_t pid = 0;
  sys::Fd out;
};

// No pid: it could not be started.
[[nodiscard]] Inspector start_inspector(const std::string& run_id, const Inspection& what);
// Ends it, and what it has started, if it has not ended yet.
void end_inspector(pid_t pid);

// What `muster agent --inspect RUN_ID WINDOW SAMPLE STACKS` does.
[[nodiscard]] int inspect_main(int argc, char** argv);

}  // namespace muster::agent
