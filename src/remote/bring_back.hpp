// Brings files from the hosts to this machine with rsync: one folder per host, or merged. The hosts
// are treated as hostile: whatever they send becomes regular files and folders below the target,
// and nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "remote/transport.hpp"
#include "sys/live_line.hpp"

namespace muster::remote {

struct BringBack {
  std::string from;  // an absolute path of a folder on the hosts
  std::string to;    // an absolute path here; created if it is missing
  bool per_host = false;
  bool checksum = false;  // compare contents instead of sizes and times
  bool dry_run = false;   // change nothing, list what would change
  std::string this_machine = {};
  std::chrono::seconds timeout = std::chrono::hours(24);
  std::size_t fan_out = 16;  // hosts at a time
  sys::OnProgress on_progress = nullptr;
};

// The command to run here for one host; an empty `host` means this machine. rsync creates no links
// or devices, does not take over owners and special modes, and sends no checksum of a local file to
// the host. `into` is a folder here. Pure.
[[nodiscard]] std::vector<std::string> back_words(const BringBack& what,
                                                  std::span<const std::string> shell,
                                                  const std::string& host, const std::string& into,
                                                  bool exact);

// Returns one outcome per host, in the same order. Fails if no host has the folder, rsync is
// missing here, the files cannot be merged, or a signal ended the copying. Sets `signal` to that
// signal, otherwise to 0.
[[nodiscard]] Result<std::vector<Outcome>> bring_back(const BringBack& what, Transport& transport,
                                                      std::span<const std::string> hosts,
                                                      int& signal);

// Whether the outcome says that the host does not have the folder.
[[nodiscard]] bool has_nothing(const Outcome& outcome);

// Returns the links and special files that rsync skipped, according to its output `out`. The names
// are made printable.
[[nodiscard]] std::vector<std::string> left_out(std::string_view out);

}  // namespace muster::remote
