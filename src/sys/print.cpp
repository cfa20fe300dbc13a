#include "sys/print.hpp"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace muster::sys {
namespace {

int first_error = 0;

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {  // another program made our terminal non-blocking
      pollfd writable = {fd, POLLOUT, 0};
      (void)::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void write_out(std::string_view text) {
  if (first_error == 0) first_error = write_all(STDOUT_FILENO, text);
}

void write_err(std::string_view text) {
  (void)write_all(STDERR_FILENO, text);
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

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest free number. Writing to a read-only descriptor fails.
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDONLY);
  }
}

}  // namespace muster::sys
