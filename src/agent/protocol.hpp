// What the launcher and a host's agent say to each other over the agent's standard input and
// output: one JSON object per line. A rank's output follows its line as bytes (see inbox.hpp).
//
//   launcher                        agent
//   hello (run id, request)   ->    ends what earlier attempts left, makes the run's folder, runs
//                                   the activation, gathers
//                             <-    beat at once, then facts
//   listen (endpoints, token) ->    listens there, at addresses of the job's network
//                             <-    listening (ports)
//   connect (targets)         ->    connects to the other hosts
//                             <-    connected (how each connection ended)
//   close                     ->    stops listening; also if the launcher disconnects, and
//                                   after a deadline
//   (disconnects)                   the agent ends: after a check, or if the run is not started.
//                                   It removes the run's folder. If the launcher sends bye (keep)
//                                   instead, the agent leaves files with the environment there,
//                                   for a run that the user starts by hand
//   place (variables)         ->    keeps what was decided for this host and the job's variables,
//                                   for the ranks and for an engine that is started there
//   begin (taken)             ->    becomes the run's warden
//                             <-    ready, then every event of the ranks so far and to come
//                             <-    output of the ranks as it arrives, from the end of `taken`
//   taken                     ->    drops the output that the launcher has
//   beat                     <->    every 2 s; before begin, the agent answers each beat, so that
//                                   the launcher can compare the clocks. Those of the host name the
//                                   ranks whose output had to wait
//   inspect                   ->    looks at what the ranks' processes are doing, for some seconds
//                             <-    inspection
//   seen                      ->    ranks that delayed their exit for an inspection may exit
//   end (grace)               ->    ends what is left of the ranks
//                             <-    kernel log, if a rank failed and the log may say why
//                             <-    done, after the last event
//   bye (keep)                ->    ends the engine's daemons, removes the run's folder unless keep
//
// After a lost connection the launcher starts a new agent and sends hello without a request, then
// begin. If the run's warden is still waiting, the new agent only relays bytes between it and the
// launcher. Events and output may therefore arrive twice, so each piece of output gives its
// position in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/assignment.hpp"
#include "agent/inbox.hpp"
#include "agent/inspector.hpp"
#include "agent/record.hpp"
#include "base/error.hpp"
#include "facts/facts.hpp"
#include "facts/reach.hpp"
#include "inspect/inspection.hpp"
#include "sys/loop.hpp"

namespace muster::agent {

constexpr double kBeatEverySeconds = 2;

// How much of a rank's output the launcher has received, in bytes from the start of each stream.
struct Taken {
  int rank = 0;
  std::uint64_t out = 0;
  std::uint64_t err = 0;

  friend bool operator==(const Taken&, const Taken&) = default;
};

// How long a rank's output has had to wait so far, because the launcher took it too slowly.
struct Waited {
  int rank = 0;
  double seconds = 0;

  friend bool operator==(const Waited&, const Waited&) = default;
};

// A piece of what a rank's program wrote.
struct Piece {
  int rank = 0;
  sys::Stream stream = sys::Stream::kOut;
  std::uint64_t at = 0;  // its position in the stream
  std::string bytes = {};
};

// Where a host listens during the connection test.
struct Endpoint {
  std::string address;
  int port = 0;  // 0: the kernel chooses

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Where a host connects to in the connection test.
struct Target {
  Endpoint at;
  std::string token = {};  // the listener answers with it; empty: it never answers

  friend bool operator==(const Target&, const Target&) = default;
};

struct Order {
  enum class Kind {
    kHello,
    kPlace,
    kBegin,
    kBeat,
    kEnd,
    kBye,
    kInspect,
    kSeen,
    kTaken,
    kListen,
    kConnect,
    kClose
  };
  Kind kind = Kind::kBeat;
  std::string run_id = {};                // in hello; empty: no run, only facts
  std::optional<facts::Request> request;  // in hello; nothing: no facts are needed
  std::vector<std::string> earlier = {};  // in hello: ids of the attempts before this one
  Assignment placement = {};              // in place
  // In place: the job's variables that the engine does not pass on by itself, as "NAME=value".
  std::vector<std::string> variables;
  double orphan_after_s = 60;            // in begin
  std::vector<Taken> taken = {};         // in begin and taken
  double grace_s = 2;                    // in end: time from SIGTERM to SIGKILL
  bool keep = false;                     // in bye
  std::vector<Endpoint> endpoints = {};  // in listen
  std::string token = {};                // in listen
  std::vector<Target> targets = {};      // in connect
  Inspection inspection = {};            // in inspect
};

struct Report {
  enum class Kind {
    kFacts,
    kReady,
    kBeat,
    kEvent,
    kDone,
    kFailed,
    kInspection,
    kOutput,
    kKernelLog,
    kListening,
    kConnected
  };
  Kind kind = Kind::kBeat;
  double clock_s = 0;               // in beat: Unix time on the host
  std::vector<Waited> waited = {};  // in beat: the ranks that have waited since the last beat
  facts::Facts facts = {};
  Event event = {};
  int ended = 0;                             // in done: how many processes had to be ended
  std::string text = {};                     // in failed: the reason
  int inspection = 0;                        // in inspection: its number
  inspect::HostView view = {};               // in inspection
  Piece piece = {};                          // in output
  std::vector<std::string> kernel_log = {};  // in kernel log
  // In listening, per endpoint; 0: it cannot listen there.
  std::vector<int> ports = {};
  std::vector<facts::Reached> reached = {};  // in connected, per target
};

[[nodiscard]] std::string to_line(const Order& order);  // ends with a newline
// Ends with a newline, which the bytes of an output follow.
[[nodiscard]] std::string to_line(const Report& report);
[[nodiscard]] Result<Order> parse_order(const std::string& line);
// Whether the message looks like a report. parse_report may still reject it.
[[nodiscard]] bool is_report(const Message& message);
[[nodiscard]] Result<Report> parse_report(const Message& message);

}  // namespace muster::agent
