// The state of a job that was just submitted, according to Slurm. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::launch {

// Values from one line of `scontrol show job --oneliner`. Missing ones are empty.
struct JobState {
  std::string state;   // "PENDING", "RUNNING", "FAILED", ...
  std::string reason;  // "Resources", "PartitionNodeLimit", ...
  std::string host;    // first host, if the job has started
  int exit_code = 0;   // if the job has ended
};
[[nodiscard]] JobState parse_job_state(std::string_view line);

enum class Prospect {
  kUnknown,  // too early to say, for example because the job has only begun
  kGood,     // the job waits for its turn, or has ended by itself
  kNever,    // the job cannot start, no matter how the queue changes
  kBroken,   // the job started, but its first host could not run its command
};
[[nodiscard]] Prospect prospect(const JobState& job);

}  // namespace muster::launch
