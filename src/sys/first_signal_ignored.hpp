// Ignores the first SIGINT or SIGTERM during its lifetime; a second one has its normal effect. For
// short work whose result the user should see even after Ctrl-C.
#pragma once

#include <array>
#include <csignal>
#include <utility>

namespace muster::sys {

class FirstSignalIgnored {
 public:
  FirstSignalIgnored() {
    struct sigaction once{};
    once.sa_handler = [](int /*number*/) {};
    once.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    for (auto& [number, before] : before_) {
      (void)::sigaction(number, nullptr, &before);
      if (before.sa_handler == SIG_DFL) (void)::sigaction(number, &once, nullptr);
    }
  }
  ~FirstSignalIgnored() {
    for (const auto& [number, before] : before_) (void)::sigaction(number, &before, nullptr);
  }
  FirstSignalIgnored(const FirstSignalIgnored&) = delete;
  FirstSignalIgnored& operator=(const FirstSignalIgnored&) = delete;

 private:
  std::array<std::pair<int, struct sigaction>, 2> before_ = {{{SIGINT, {}}, {SIGTERM, {}}}};
};

}  // namespace muster::sys
