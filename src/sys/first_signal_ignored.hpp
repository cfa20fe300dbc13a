// Ignores the first SIGINT, SIGTERM and SIGHUP during its lifetime; a second one has its normal
// effect. For short work whose result the user should see even after Ctrl-C.
#pragma once

#include <array>
#include <csignal>
#include <optional>
#include <utility>

namespace muster::sys {

class FirstSignalIgnored {
 public:
  FirstSignalIgnored() {
    came_ = 0;
    struct sigaction once{};
    once.sa_handler = [](int number) { came_ = number; };
    once.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    for (auto& [number, before] : before_) {
      (void)::sigaction(number, nullptr, &before);
      if (before.sa_handler == SIG_DFL) (void)::sigaction(number, &once, nullptr);
    }
  }
  ~FirstSignalIgnored() {
    for (const auto& [number, before] : before_) (void)::sigaction(number, &before, nullptr);
  }
  // The latest signal that was ignored; nothing if there was none.
  [[nodiscard]] static std::optional<int> came() {
    const int came = came_;
    return came == 0 ? std::nullopt : std::optional(came);
  }
  FirstSignalIgnored(const FirstSignalIgnored&) = delete;
  FirstSignalIgnored& operator=(const FirstSignalIgnored&) = delete;

 private:
  static inline volatile std::sig_atomic_t came_ = 0;
  std::array<std::pair<int, struct sigaction>, 3> before_ = {
      {{SIGINT, {}}, {SIGTERM, {}}, {SIGHUP, {}}}};
};

}  // namespace muster::sys
