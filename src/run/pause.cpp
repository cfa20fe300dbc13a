#include "run/pause.hpp"

#include <chrono>
#include <csignal>

#include "sys/ignored_signal.hpp"
#include "sys/loop.hpp"

namespace muster::run {

std::optional<int> pause(double seconds) {
  sys::UvLoop loop;
  std::optional<int> came;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sys::is_ignored(signal)) continue;
    loop.on_signal(signal, [&came, &loop, signal] {
      came = signal;
      loop.stop();
    });
  }
  using std::chrono::milliseconds;
  const auto timer = loop.timer(milliseconds(static_cast<long>(seconds * 1000)), milliseconds(0),
                                [&loop] { loop.stop(); });
  loop.run();
  loop.drop_signals();
  return came;
}

}  // namespace muster::run
