#include "agent/group_guard.hpp"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/descriptors.hpp"

namespace muster::agent {
namespace {

[[noreturn]] void watch(int life_line, pid_t group) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_NAME, "muster-guard");
  close_all_but(life_line);
  char word = 0;
  if (::read(life_line, &word, 1) == 0) (void)::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Result<GroupGuard> GroupGuard::start(pid_t group) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return unexpected(system_error("cannot make a pipe"));
  const sys::Fd reader(ends[0]);
  GroupGuard guard;
  guard.life_line_ = sys::Fd(ends[1]);
  guard.pid_ = ::fork();
  if (guard.pid_ < 0) return unexpected(system_error("cannot start a process"));
  if (guard.pid_ == 0) watch(reader.get(), group);
  (void)::setpgid(guard.pid_, guard.pid_);  // here too: whoever comes first
  return guard;
}

void GroupGuard::dismiss() {
  (void)!::write(life_line_.get(), "x", 1);
}

}  // namespace muster::agent
