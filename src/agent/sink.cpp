#include "agent/sink.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::agent {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kEngineRead = 4096;     // bytes that Open MPI and hydra read at once
constexpr std::size_t kTerminalRead = 4095;   // the most that the kernel hands out at once
constexpr std::size_t kTerminalPiece = 1792;  // bytes that it queues in one go
constexpr nanoseconds kFirstPause = microseconds(10);
constexpr nanoseconds kLongestPause = std::chrono::milliseconds(2);

// What was written into a terminal is taken to be read when its reader slept since, not before the
// kernel has surely handed it over; when the watch has not ended a wait in time; or, where the
// reader cannot be watched or is another process, after a rest.
constexpr nanoseconds kHandOver = microseconds(150);
constexpr nanoseconds kWatchAtMost = std::chrono::milliseconds(100);
constexpr nanoseconds kSoon = std::chrono::milliseconds(5);
constexpr int kUnansweredAtMost = 8;
constexpr nanoseconds kRest = microseconds(200);

}  // namespace

Sink::Sink(int fd) : fd_(fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return;
  if (S_ISFIFO(status.st_mode)) kind_ = Kind::kPipe;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::kSocket;
  if (S_ISCHR(status.st_mode) && ::isatty(fd) == 1) kind_ = Kind::kTerminal;
  if (kind_ != Kind::kPipe && kind_ != Kind::kTerminal) return;
  if (kind_ == Kind::kTerminal) reader_.emplace(::getppid());
  // Fails where the engine made it as another user; then poll has to do.
  own_ = sys::Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                        O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::size_t Sink::max_block() const {
  return kind_ == Kind::kTerminal ? kTerminalRead : kEngineRead;
}

std::size_t Sink::wanted_block() const {
  return kind_ == Kind::kTerminal ? kTerminalPiece : kEngineRead;
}

void Sink::back_off() {
  // Nothing tells that the reader is awake again: look often at first, then seldom.
  const bool soon = kind_ == Kind::kTerminal && Clock::now() - last_write_ < kSoon;
  pause_ = std::clamp(pause_ * 2, kFirstPause, soon ? kHandOver : kLongestPause);
}

bool Sink::terminal_has_room(std::size_t bytes) {
  if (maybe_unread_ == 0 || maybe_unread_ + bytes <= kTerminalRead) return true;
  const nanoseconds since = Clock::now() - last_write_;
  if (reader_ && since >= kHandOver && reader_->has_slept().value_or(false)) {
    unanswered_ = 0;
  } else if (since < (reader_ ? kWatchAtMost : kRest)) {
    back_off();
    return false;
  } else if (reader_ && ++unanswered_ == kUnansweredAtMost) {
    reader_.reset();
  }
  maybe_unread_ = 0;
  return true;
}

bool Sink::has_room(std::size_t bytes) {
  if (kind_ == Kind::kTerminal) return terminal_has_room(bytes);
  if (kind_ == Kind::kOther) return true;
  int unread = 0;
  const unsigned long request = kind_ == Kind::kPipe ? FIONREAD : TIOCOUTQ;
  if (::ioctl(fd(), request, &unread) != 0 || unread <= 0) return true;
  if (static_cast<std::size_t>(unread) + bytes <= kEngineRead) return true;
  back_off();
  return false;
}

ssize_t Sink::write_now(std::string_view block) const {
  if (kind_ == Kind::kSocket) {
    return ::send(fd(), block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (!own_.valid() && kind_ != Kind::kOther) {
    pollfd one{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&one, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
  }
  return ::write(fd(), block.data(), block.size());
}

std::size_t Sink::put(std::string_view block) {
  if (closed_) return block.size();
  if (!has_room(block.size())) return 0;
  if (reader_) reader_->before_write();
  const ssize_t put = write_now(block);
  full_ = put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (full_ || (put < 0 && errno == EINTR)) return 0;
  if (put < 0) {
    closed_ = true;
    return block.size();
  }
  pause_ = nanoseconds(0);
  maybe_unread_ += static_cast<std::size_t>(put);
  last_write_ = Clock::now();
  return static_cast<std::size_t>(put);
}

}  // namespace muster::agent
