// Writes requests to Slurm from outside an allocation: the flags of salloc and sbatch, and a batch
// script. All pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/host.hpp"
#include "layout/job.hpp"

namespace muster::launch {

using Words = std::vector<std::string>;

// Returns the flags for salloc and sbatch, such as "--nodes=2" and "--ntasks-per-node=8". `hosts`
// are those that the user named. `more` are the user's own flags for Slurm, which come last and
// therefore win.
[[nodiscard]] Words allocation_flags(const layout::Job& job, std::span<const hosts::Host> hosts,
                                     std::span<const std::string> more);

struct Batch {
  std::string name;         // name of the job
  std::string output;       // file; "%j" becomes the job's number
  Words flags = {};         // see allocation_flags
  std::string muster = {};  // the path of this muster
  // The path of the build for another architecture, without the name of that architecture
  // (`uname -m`) at its end. The script prefers that build if the job's first host has it.
  std::string other_musters = {};
  Words arguments = {};  // of muster, which runs once, on the first host
};

// Returns the script. People may read it, change it and submit it again.
[[nodiscard]] std::string to_script(const Batch& batch);

// The second line of every script that muster writes, below the line that names the shell.
constexpr std::string_view kScriptMark = "# Written by muster submit.";

}  // namespace muster::launch
