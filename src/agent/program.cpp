#include "agent/program.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_code.hpp"
#include "sys/file.hpp"

namespace muster::agent {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> entries_of(const Environment& environment) {
  std::vector<std::string> entries;
  entries.reserve(environment.size());
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  return entries;
}

// Runs in the child. Everything that allocates memory was done before the fork.
[[noreturn]] void become(const Launch& launch, char** words, char** environment, pid_t shim,
                         int error_pipe) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (launch.inspector > 0) (void)::prctl(PR_SET_PTRACER, launch.inspector, 0, 0, 0);
  // If the parent died before the first prctl call, its death will not end this process.
  if (::getppid() != shim) ::_exit(1);
  int error = 0;
  if (::dup2(launch.out, STDOUT_FILENO) < 0 || ::dup2(launch.err, STDERR_FILENO) < 0) {
    error = errno;
  }
  if (error == 0) {
    launch.signals.give_back();
    environ = environment;  // execvp looks up PATH there
    ::execvp(words[0], words);
    error = errno;
  }
  (void)!::write(error_pipe, &error, sizeof error);
  ::_exit(exit_code_of_exec(error));
}

}  // namespace

Result<Launched> launch(const Launch& launch) {
  std::vector<std::string> program = launch.program;
  std::vector<std::string> entries = entries_of(launch.environment);
  const std::vector<char*> words = pointers(program);
  std::vector<char*> environment = pointers(entries);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return unexpected(system_error("cannot make a pipe"));
  sys::Fd reader(ends[0]);
  const sys::Fd writer(ends[1]);
  const pid_t shim = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return unexpected(system_error("cannot start a process"));
  if (pid == 0) {
    become(launch, const_cast<char**>(words.data()), environment.data(), shim, writer.get());
  }
  // The child makes the same call. Whichever comes first makes the group.
  (void)::setpgid(pid, pid);
  return Launched{.pid = pid, .error_pipe = reader.release()};
}

int launch_error(const Launched& launched) {
  const sys::Fd pipe(launched.error_pipe);
  int error = 0;
  const ssize_t got = ::read(pipe.get(), &error, sizeof error);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

int end_like(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit none{};
  (void)::setrlimit(RLIMIT_CORE, &none);
  // RLIMIT_CORE does not limit a core dump that the kernel pipes to a program.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  ::sigaction(number, &standard, nullptr);
  sigset_t one{};
  sigemptyset(&one);
  sigaddset(&one, number);
  (void)::kill(::getpid(), number);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  // Reached only as the first process of a PID namespace, which the signal does not kill.
  return 128 + number;
}

}  // namespace muster::agent
