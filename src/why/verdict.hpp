// Explains why a job does not advance: which rank, where, and what the others wait for. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "inspect/inspection.hpp"

namespace muster::why {

// A rank of the job, as its launcher and its host know it.
struct RankState {
  enum class Life { kNotStarted, kRunning, kEnded };
  int rank = 0;
  std::string host;
  Life life = Life::kRunning;
  std::string end = {};    // how it ended: "exit code 0", "signal 9 (Killed)"
  double ended_ago_s = 0;  // how long ago it ended
  bool timed_out = false;  // it ended because it timed out waiting for others
  bool cut_off = false;    // it ended because its connection to another rank broke
};

struct Scene {
  std::vector<RankState> ranks;
  std::map<std::string, inspect::HostView> hosts;  // those that answered
  std::vector<std::string> silent_hosts = {};      // those that did not answer before the deadline
  std::map<std::string, std::vector<std::string>> kernel_logs = {};  // notable lines, by host
  std::string master_address = {};  // where the ranks meet; empty: unknown
  int master_port = 0;
  double started_ago_s = 0;  // since the engine started
  double silent_s = 0;       // since any rank last printed something
};

enum class Kind {
  kProgress,              // collectives advance, nothing is wrong
  kWorking,               // the others wait for ranks that compute, read or write
  kWaiting,               // ranks wait, but not for long enough to call it a hang
  kUnknown,               // too little could be seen
  kNotEntered,            // a rank waits elsewhere and has not entered the collective
  kDifferentCollectives,  // ranks are in different collectives
  kDifferentSizes,        // ranks are in the same collective, with different sizes or types
  kLoops,                 // a rank runs in one place and never arrives
  kStopped,               // SIGSTOP, a debugger or a freezer
  kUninterruptible,       // state D: uninterruptible sleep
  kWaitsForLock,
  kWaitsForInput,
  kEnded,                 // a rank has ended or died, and the others wait for it
  kNoTransportProgress,   // data is sent but does not arrive
  kRendezvousIncomplete,  // not all ranks have reached the rendezvous
  kEverybodyWaits,        // ranks wait for each other in a circle
  kHostSilent,            // the host does not answer
  kStraggler,             // of a job that advances: the others wait for this rank most
  kSlowLink,              // of a job that advances: ranks wait for the network of a host
  kBalanced,              // of a job that advances: no rank is waited for much longer than others
};

struct Verdict {
  Kind kind = Kind::kUnknown;
  bool hang = false;                    // whether the job hangs, as far as muster can tell
  std::vector<int> ranks = {};          // those that the others wait for, or that differ
  std::vector<std::string> hosts = {};  // the hosts of these ranks, or those with the bad link
  std::string headline =
      // Such as "rank 3 (n2) never entered all_reduce #1842; 15 ranks have waited in it for 94 s".
      {};
  std::vector<std::string> details = {};  // where these ranks are, and further evidence
  std::string next = {};                  // what to do
};

[[nodiscard]] std::string name_of(Kind kind);  // "not-entered"

[[nodiscard]] Verdict judge(const Scene& scene);
// Finds the ranks that the others wait for most, in a job that advances and was watched for some
// seconds.
[[nodiscard]] Verdict judge_slow(const Scene& scene);

// Returns the verdict for the terminal and the run's folder: the headline and the details, in
// lines.
[[nodiscard]] std::string verdict_text(const Verdict& verdict);
// Returns the text below the verdict: the last completed and the pending operations of each group,
// the state of the processes, their stacks, signs from hosts, and what could not be seen. Groups
// ranks with equal text, outliers first.
[[nodiscard]] std::string evidence_text(const Scene& scene);

// Each text is one JSON object.
[[nodiscard]] std::string to_json(const Scene& scene);
[[nodiscard]] std::string to_json(const Verdict& verdict);
[[nodiscard]] nlohmann::ordered_json verdict_schema();
// Reads stored evidence, to judge it again. The text may be hostile.
[[nodiscard]] Result<Scene> parse_scene(const std::string& text);

}  // namespace muster::why
