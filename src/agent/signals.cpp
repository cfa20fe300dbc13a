#include "agent/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace muster::agent {

SignalGuard::SignalGuard() {
  sigset_t all{};
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &mask_);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &child_ended_);
}

void SignalGuard::give_back() const {
  ::sigaction(SIGCHLD, &child_ended_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

Result<int> SignalGuard::open_descriptor() const {
  sigset_t all{};
  sigfillset(&all);
  const int fd = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return unexpected(system_error("cannot receive signals"));
  return fd;
}

std::optional<int> next_signal(int descriptor) {
  signalfd_siginfo info{};
  while (::read(descriptor, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const bool own = info.ssi_pid == static_cast<unsigned>(::getpid());
    if (!own) return static_cast<int>(info.ssi_signo);
  }
  return std::nullopt;
}

}  // namespace muster::agent
