// What the launcher and a host's agent say to each other over the agent's standard input and
// output: one JSON object a line.
//
//   launcher                        agent
//   hello (run id, request)   ->    ends what earlier attempts left, makes the run's folder, runs
//                                   the activation, gathers
//                             <-    beat at once, then facts
//   (closes: the agent ends)        a check ends here, and a run that is not started; its folder
//                                   is removed unless bye (keep) was said
//   place (variables)         ->    keeps for the ranks what was decided for this host, and the
//                                   variables for an engine that is started there
//   begin                     ->    stays, from now on as the run's warden
//                             <-    ready, then every event of the ranks so far and to come
//   beat                     <->    every 2 s; before begin each is answered, for the clocks
//   look                      ->    looks at what the ranks' processes are doing
//                             <-    looks
//   end (grace)               ->    ends what is left of the ranks
//                             <-    done, after the last event
//   bye (keep)                ->    ends the engine's daemons, removes the run's folder unless keep
//
// After a lost connection the launcher starts an agent again and says hello, with no request, and
// begin: where the run's warden still waits, the new agent only carries the lines to it. Events may
// so come twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent/look.hpp"
#include "agent/placement.hpp"
#include "agent/record.hpp"
#include "base/error.hpp"
#include "facts/facts.hpp"

namespace muster::agent {

constexpr double kBeatEverySeconds = 2;
constexpr std::size_t kMaxLine = std::size_t{8} << 20;

struct Order {
  enum class Kind { kHello, kPlace, kBegin, kBeat, kEnd, kBye, kLook };
  Kind kind = Kind::kBeat;
  std::string run_id = {};                // hello; empty: no run, facts only
  std::optional<facts::Request> request;  // hello; nothing: no facts are wanted
  std::vector<std::string> earlier = {};  // hello: ids of the attempts before this one
  Placement placement = {};               // place
  std::vector<std::string> variables;     // place: "NAME=value" for an engine started on the host
  double orphan_after_s = 60;             // begin
  double grace_s = 2;                     // end: from SIGTERM to SIGKILL
  bool keep = false;                      // bye
};

struct Report {
  enum class Kind { kFacts, kReady, kBeat, kEvent, kDone, kFailed, kLooks };
  Kind kind = Kind::kBeat;
  double clock_s = 0;  // beat: Unix time there
  facts::Facts facts = {};
  Event event = {};
  int ended = 0;          // done: how many processes had to be ended
  std::string text = {};  // failed: why
  std::vector<RankLook> looks = {};
};

[[nodiscard]] std::string to_line(const Order& order);  // with its newline
[[nodiscard]] std::string to_line(const Report& report);
[[nodiscard]] Result<Order> parse_order(const std::string& line);
[[nodiscard]] Result<Report> parse_report(const std::string& line);

}  // namespace muster::agent
