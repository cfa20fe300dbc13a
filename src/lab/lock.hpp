// One change to a lab at a time. The lock lies on the lab's folder; processes that `up` has forked
// but that have not yet executed their program hold it too, so that `down` never overtakes them.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::lab {

class Lock {
 public:
  enum Folder { kMake, kExisting };

  // Waits for at most 60 s.
  [[nodiscard]] static Result<Lock> take(std::string_view lab, Folder folder);

 private:
  explicit Lock(sys::Fd fd) : fd_(std::move(fd)) {}
  sys::Fd fd_;
};

}  // namespace muster::lab
