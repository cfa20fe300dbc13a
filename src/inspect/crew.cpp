#include "inspect/crew.hpp"

#include <system_error>
#include <thread>

namespace muster::inspect {

bool Crew::start(std::function<void()> work) {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->running;
  }
  const auto body = [state = state_, work = std::move(work)] {
    work();
    const std::lock_guard lock(state->mutex);
    --state->running;
    state->changed.notify_all();
  };
  try {
    std::thread(body).detach();
    return true;
  } catch (const std::system_error&) {
    const std::lock_guard lock(state_->mutex);
    --state_->running;
    return false;
  }
}

bool Crew::wait(Deadline deadline) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_until(lock, deadline, [this] { return state_->running == 0; });
}

}  // namespace muster::inspect
