// Threads that may be left behind: the kernel can hold whoever looks at a sick process or a dead
// file system.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "inspect/deadline.hpp"

namespace muster::inspect {

// A value that a thread which is left behind may still change.
template <class T>
class Shared {
 public:
  Shared() = default;
  explicit Shared(T value) : value_(std::move(value)) {}

  [[nodiscard]] T copy() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  template <class Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    change(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_ = {};
};

class Crew {
 public:
  // The work owns all that it uses. False: no thread could be started.
  bool start(std::function<void()> work);
  // False: some still work.
  [[nodiscard]] bool wait(Deadline deadline) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace muster::inspect
