#include "cli/detach.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_code.hpp"
#include "run/folder.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

int announce_to = -1;  // write end of the pipe to the waiting process

// Reads the pipe: a byte means that the run has begun, the end without a byte that it has failed.
// Then shows the log, which contains messages about the hosts, warnings and errors.
Result<int> wait_for_start(pid_t child, int pipe, const std::string& run_id,
                           const std::string& log) {
  char byte = 0;
  const bool runs = ::read(pipe, &byte, 1) == 1;
  if (const auto said = sys::read_file(log)) sys::write_err(*said);
  if (runs) {
    sys::print_out("{}\n", run_id);
    sys::print_err("muster: running in the background; to follow it: muster attach {}\n", run_id);
    return 0;
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitOwnFault;
}

void become_background(const std::string& log) {
  (void)::setsid();
  // A script's background job ignores SIGINT. This process has no terminal, so a SIGINT can only
  // come from somebody who wants to end the run.
  (void)std::signal(SIGINT, SIG_DFL);
  // The run must survive the end of the terminal or login, no matter who sends SIGHUP.
  (void)std::signal(SIGHUP, SIG_IGN);
  const int null = ::open("/dev/null", O_RDWR);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  (void)::dup2(null, STDIN_FILENO);
  (void)::dup2(null, STDOUT_FILENO);  // the ranks' output is stored in the run's folder anyway
  (void)::dup2(file, STDERR_FILENO);
}

}  // namespace

std::optional<Result<int>> detach(const std::string& run_id) {
  const auto folder = run::make_run_folder(run_id);
  if (!folder) return unexpected(folder.error());
  const std::string log = *folder + "/muster";
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(system_error("cannot detach"));
  const pid_t child = ::fork();
  if (child < 0) return unexpected(system_error("cannot detach"));
  if (child > 0) {
    (void)::close(ends[1]);
    return wait_for_start(child, ends[0], run_id, log);
  }
  (void)::close(ends[0]);
  announce_to = ends[1];
  become_background(log);
  // From now on, even while hosts are being checked, `stop` finds the run and `rm` does not remove
  // it.
  if (const auto owned = run::write_owner(*folder); !owned) return unexpected(owned.error());
  return std::nullopt;
}

bool announce_detached() {
  if (announce_to < 0) return true;
  const bool heard = ::write(announce_to, "r", 1) == 1;
  (void)::close(announce_to);
  announce_to = -1;
  return heard;
}

}  // namespace muster::cli
