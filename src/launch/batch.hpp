// What Slurm is asked for when we are not in an allocation yet: salloc's flags, a batch script. All
// pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/host.hpp"
#include "layout/job.hpp"

namespace muster::launch {

using Words = std::vector<std::string>;

// As salloc and sbatch have them: "--nodes=2", "--ntasks-per-node=8". `hosts` are those that the
// user named, `more` their own words for Slurm, which stand last and win.
[[nodiscard]] Words allocation_flags(const layout::Job& job, std::span<const hosts::Host> hosts,
                                     std::span<const std::string> more);

struct Batch {
  std::string name;    // of the job
  std::string output;  // file; "%j" stands for the job's number
  Words flags = {};    // as allocation_flags
  Words command = {};  // what is run, once, on the first host
};

// For people to read, to change and to submit again.
[[nodiscard]] std::string to_script(const Batch& batch);

// How a script of ours begins, after the line that names the shell.
constexpr std::string_view kScriptMark = "# Written by muster submit.";

}  // namespace muster::launch
