// Sends the same files to all hosts. Starts one rsync or tar per host.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "remote/project.hpp"
#include "remote/sync.hpp"
#include "remote/transport.hpp"
#include "sys/live_line.hpp"

namespace muster::remote {

// What became of a distribution in which hosts sent files to each other.
struct SpreadReport {
  struct Note {
    std::string host;
    std::string text;
  };
  std::vector<std::string> from_hosts = {};  // hosts that got files from other hosts
  std::vector<std::string> from_here = {};   // hosts that got files from this machine
  std::uint64_t bytes_from_hosts = 0;        // total size of these files
  std::uint64_t bytes_from_here = 0;
  // What hosts got before the transfer whose output is in their outcome.
  std::map<std::string, Changes> earlier = {};
  std::vector<Note> failures = {};     // why a host did not get its files from another one
  std::vector<Note> repaired = {};     // files that were sent again because their content differed
  std::vector<Note> not_removed = {};  // temporary folders that may be left on hosts
  std::vector<std::string> changed_here = {};  // files here that changed meanwhile
  int signal = 0;                              // the signal that ended the work; 0: none
};

struct Distribution {
  SyncOptions options;
  std::string this_machine = {};  // the host that is this machine, if any
  std::chrono::seconds timeout = std::chrono::hours(24);
  std::size_t fan_out = 16;  // hosts at a time
  // Lists what to send. Called at most once, if some host needs files. Null: send everything, for
  // which both this machine and the hosts need rsync.
  std::function<Result<Project>()> list_project = nullptr;
  // If set, hosts also send the files to each other, and the copies are verified. Needs a null
  // list_project.
  SpreadReport* spread = nullptr;
  // Called when all hosts have reported whether they share the folder.
  std::function<void()> on_prepared = nullptr;
  sys::OnProgress on_progress = nullptr;
};

// The output of rsync --version on this machine; empty if it is not installed.
[[nodiscard]] std::string ask_rsync_here();

// Whether nothing was sent because the host has the very same folder, on a shared file system.
[[nodiscard]] bool is_shared(const Outcome& outcome);

// One outcome per host, in the same order: how the copying ended, or why it failed or was not
// started. Fails if the paths cannot be listed, or if rsync is needed but missing here.
[[nodiscard]] Result<std::vector<Outcome>> distribute(const Distribution& what,
                                                      Transport& transport,
                                                      std::span<const std::string> hosts);

}  // namespace muster::remote
