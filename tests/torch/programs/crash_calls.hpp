// The calls of the C library that change or read files, counted, so that a process can be ended, or
// a disk be full, at each of them. Calls of libmuster and of libstdc++ come here as well.
#pragma once

#include <string>

namespace muster::test {

enum class Mishap {
  none,        // only counted
  kill,        // the process ends before the call
  torn,        // half of a write is done, then the process ends
  power,       // the process ends, and what was not synced is lost: bytes, and changes of folders
  full_disk,   // this and all later calls that need room fail with ENOSPC
  bad_sector,  // this call alone fails with EIO
};

// From now on, calls that touch files below `folder` are counted; the mishap is at call `at`, from
// 1 on.
void arm(const std::string& folder, Mishap mishap, long at);
void disarm();
[[nodiscard]] long calls();

}  // namespace muster::test
