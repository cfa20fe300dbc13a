#include "sys/print.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "sys/live_line.hpp"
#include "sys/terminal_filter.hpp"

namespace muster::sys {
namespace {

int first_error = 0;

std::string_view value_of(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

}  // namespace

void write_out(std::string_view text) {
  static ShownStream out(STDOUT_FILENO);
  LiveLine().clear();
  if (first_error == 0 && !out.write(text)) first_error = errno;
}

void write_err(std::string_view text) {
  static ShownStream err(STDERR_FILENO);
  LiveLine().clear();
  (void)err.write(text);
}

int output_error() {
  return first_error;
}

bool output_is_taken() {
  pollfd out = {STDOUT_FILENO, 0, 0};
  const bool left = ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
  if (left && first_error == 0) first_error = EPIPE;
  return first_error == 0;
}

bool shows_colours(int descriptor) {
  const std::string_view terminal = value_of("TERM");
  return ::isatty(descriptor) != 0 && value_of("NO_COLOR").empty() && !terminal.empty() &&
         terminal != "dumb";
}

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() uses the lowest free number, which is this one. Writes to a read-only descriptor fail.
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDONLY);
  }
}

}  // namespace muster::sys
