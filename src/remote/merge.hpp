// The files of several hosts, put together in one folder. What the hosts sent is hostile: nothing
// of it leaves the folder, and no symbolic link in the folder is followed.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"

namespace muster::remote {

// Where the copies from the hosts are while they are on their way; a folder below the target.
constexpr const char* kStaging = ".muster-back";

struct Received {
  std::string host;
  std::string folder;  // a whole copy of what the host has; regular files and folders count
};

// Moves the files of all hosts into `to`, in place of older ones; files that are only in `to` stay.
// All folders are on one file system. Changes nothing and fails if hosts have different files of
// the same name and neither is the one in `to`, or if a path leads through a symbolic link or a
// file in `to`.
// Cost: one look at each file; the content of files that several hosts have is compared.
[[nodiscard]] Result<void> merge(std::span<const Received> received, const std::string& to);

}  // namespace muster::remote
