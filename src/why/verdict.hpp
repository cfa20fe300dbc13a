// Why a job does not move: which rank, where, and what the others wait for. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "inspect/inspection.hpp"

namespace muster::why {

// A rank of the job, as the launcher and the rank's host know it.
struct RankState {
  enum class Life { kNotStarted, kRunning, kEnded };
  int rank = 0;
  std::string host;
  Life life = Life::kRunning;
  std::string end = {};    // of an ended one: "exit code 0", "signal 9 (Killed)"
  double ended_ago_s = 0;  // likewise
  bool timed_out = false;  // likewise: it had waited for others, and given up
  bool cut_off = false;    // likewise: its connection to another rank broke
};

struct Scene {
  std::vector<RankState> ranks;
  std::map<std::string, inspect::HostView> hosts;  // those that answered
  std::vector<std::string> silent_hosts = {};      // those that did not, within the deadline
  std::map<std::string, std::vector<std::string>> kernel_logs = {};  // telling lines, by host
  std::string master_address = {};  // where the ranks meet; empty: unknown
  int master_port = 0;
  double started_ago_s = 0;  // the engine
  double silent_s = 0;       // since any rank printed something
};

enum class Kind {
  kProgress,              // collectives advance: nothing is wrong
  kWorking,               // the others wait for ranks that compute, read or write
  kWaiting,               // for ranks that do nothing, but not for long yet
  kUnknown,               // too little could be seen
  kNotEntered,            // a rank waits elsewhere and has not entered the collective
  kDifferentCollectives,  // ranks are in different collectives
  kDifferentSizes,        // in the same one, with different sizes or types
  kLoops,                 // a rank runs in one place and never comes
  kStopped,               // SIGSTOP, a debugger or a freezer
  kUninterruptible,       // state D
  kWaitsForLock,
  kWaitsForInput,
  kEnded,                 // a rank has ended or died, and the others wait for it
  kNoTransportProgress,   // data is on its way and does not arrive
  kRendezvousIncomplete,  // not everybody has reached the rendezvous
  kEverybodyWaits,        // in a circle
  kHostSilent,            // the host does not answer
  kStraggler,             // of a job that advances: the others wait for this rank most
  kSlowLink,              // likewise: for the network of a host
  kBalanced,              // nobody waits much longer for one than for another
};

struct Verdict {
  Kind kind = Kind::kUnknown;
  bool hang = false;                    // whether something is accused
  std::vector<int> ranks = {};          // that the others wait for, or that differ
  std::vector<std::string> hosts = {};  // of these ranks, or with the bad link
  std::string headline =
      {};  // "rank 3 (n2) never entered all_reduce #1842; 15 ranks have waited in it for 94 s"
  std::vector<std::string> details = {};  // where these ranks are, and what else speaks for it
  std::string next = {};                  // what to do
};

[[nodiscard]] std::string name_of(Kind kind);  // "not-entered"

[[nodiscard]] Verdict judge(const Scene& scene);
// Of a job that advances, watched for some seconds: for whom the others wait most.
[[nodiscard]] Verdict judge_slow(const Scene& scene);

// The verdict's lines, for the terminal and the run's folder: headline and details.
[[nodiscard]] std::string verdict_text(const Verdict& verdict);
// What stands below it: last and next operation per group and rank, stacks in groups of equal ones
// (outliers first), signals of hosts, and what could not be seen.
[[nodiscard]] std::string evidence_text(const Scene& scene, const Verdict& verdict);

// One JSON object each way; what is read may be hostile.
[[nodiscard]] std::string to_json(const Scene& scene);
[[nodiscard]] std::string to_json(const Verdict& verdict);
[[nodiscard]] nlohmann::ordered_json verdict_schema();
// Evidence that was kept, to judge it again.
[[nodiscard]] Result<Scene> parse_scene(const std::string& text);

}  // namespace muster::why
