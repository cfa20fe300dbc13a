#include "agent/memory_watch.hpp"

namespace muster::agent {

void MemoryWatch::look() {
  const std::int64_t kills = system_.memory_kills();
  if (kills > seen_) {
    unexplained_ += kills - seen_;
    last_kill_ = system_.now();
  } else if (unexplained_ > 0 && system_.now() - last_kill_ > kRecent) {
    unexplained_ = 0;
  }
  seen_ = kills;
}

bool MemoryWatch::explains_a_failure() {
  look();
  if (unexplained_ == 0) return false;
  --unexplained_;
  return true;
}

}  // namespace muster::agent
