// Counts the C library's calls that change or read files, so that a test can end a process, or fill
// a disk, at each of them. Calls from libmuster and libstdc++ are counted too.
#pragma once

#include <string>

namespace muster::test {

enum class Mishap {
  none,        // only counts
  kill,        // the process dies before the call
  torn,        // half of a write is done, then the process dies
  power,       // the process dies, and unsynced bytes and changes of folders are lost
  full_disk,   // this and all later calls that need room fail with ENOSPC
  bad_sector,  // only this call fails with EIO
};

// From now on, calls that touch files below `folder` are counted. The mishap happens at call `at`,
// counted from 1.
void arm(const std::string& folder, Mishap mishap, long at);
void disarm();
[[nodiscard]] long calls();

}  // namespace muster::test
