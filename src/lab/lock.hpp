// Ensures that only one process changes a lab at a time, by a lock on the lab's folder. Processes
// that `up` has forked hold the lock too until they execute their program, because `down` could not
// find them before that.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::lab {

class Lock {
 public:
  enum Folder { kMake, kExisting };

  // Waits at most 60 s.
  [[nodiscard]] static Result<Lock> take(std::string_view lab, Folder folder);

 private:
  explicit Lock(sys::Fd fd) : fd_(std::move(fd)) {}
  sys::Fd fd_;
};

}  // namespace muster::lab
