// Threads that this process can abandon. The kernel can block a thread that examines a faulty
// process or a file system whose server is gone.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "inspect/deadline.hpp"

namespace muster::inspect {

// A value that an abandoned thread may still change.
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
  // The work must own everything that it uses. Returns false if no thread could be started.
  bool start(std::function<void()> work);
  // Returns false if some threads are still working.
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
