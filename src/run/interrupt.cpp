// How a supervised run responds to signals.
#include <csignal>

#include "run/supervisor.hpp"
#include "sys/ignored_signal.hpp"

namespace muster::run {

void Supervisor::heed_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sys::is_ignored(signal)) continue;  // nohup, or a background job of a script
    loop_.on_signal(signal, [this, signal] { interrupt(signal); });
  }
}

void Supervisor::interrupt(int signal) {
  // After the engine's end, the run may only be waiting for the inspection that follows a time-out.
  if (ending_ || engine_over_) inquiry_.cancel(Urgency::kTimeOut, "the run was interrupted");
  if (ending_) return end_at_once();
  if (signal == SIGINT && !engine_over_) {
    output_.say("muster: ending the run; press Ctrl-C again to kill it at once\n");
  }
  record_.signal = signal;
  end_run(Reason::kInterrupted);
}

// Gives the ranks no more time to end by themselves.
void Supervisor::end_at_once() {
  signal_engine(SIGKILL);
  crew_.send_all({.kind = agent::Order::Kind::kEnd, .grace_s = 0});
}

}  // namespace muster::run
