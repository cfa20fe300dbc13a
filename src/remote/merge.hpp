// Merges the files of several hosts into one folder. The hosts' files are treated as hostile:
// nothing is written outside the folder, and no symbolic link in it is followed.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"

namespace muster::remote {

// The folder below the target that holds incoming copies until they are complete.
constexpr const char* kStaging = ".muster-back";

struct Received {
  std::string host;
  std::string folder;  // a complete copy of the host's files; only regular files and folders count
};

// Moves the files of all hosts into `to`, replacing older ones. Files that exist only in `to` stay.
// All folders must be on one file system. Fails without changing anything if hosts have different
// files of the same name and neither equals the one in `to`, or if a path leads through a symbolic
// link or a file in `to`. Cost: one look at each file; contents are compared only where several
// hosts have the file.
[[nodiscard]] Result<void> merge(std::span<const Received> received, const std::string& to);

}  // namespace muster::remote
