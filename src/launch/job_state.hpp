// What Slurm says about a job that was just submitted. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::launch {

// From one line of `scontrol show job --oneliner`; what it does not tell is empty.
struct JobState {
  std::string state;   // "PENDING", "RUNNING", "FAILED", ...
  std::string reason;  // "Resources", "PartitionNodeLimit", ...
  std::string host;    // the first host of a job that has started
  int exit_code = 0;   // of a job that has ended
};
[[nodiscard]] JobState parse_job_state(std::string_view line);

enum class Prospect {
  kUnknown,  // too early to say
  kGood,     // it runs, has ended by itself, or waits for its turn
  kNever,    // it cannot start, whatever happens in the queue
  kBroken,   // it started, and its first host could not run its command
};
[[nodiscard]] Prospect prospect(const JobState& job);

}  // namespace muster::launch
