#include "agent/channel.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "agent/protocol.hpp"

namespace muster::agent {
namespace {

void set_nonblocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) (void)::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Channel::Channel(sys::Fd in, sys::Fd out) : in_(std::move(in)), out_(std::move(out)) {
  set_nonblocking(in_.get());
  set_nonblocking(out_.get());
}

void Channel::receive() {
  char bytes[65536];
  while (open()) {
    const ssize_t count = ::read(in_.get(), bytes, sizeof bytes);
    if (count > 0) {
      received_.append(bytes, static_cast<std::size_t>(count));
      if (received_.size() - taken_ > kMaxLine) close();
    } else if (count == 0 || !would_block()) {
      close();
    } else {
      return;
    }
  }
}

std::optional<std::string> Channel::next_line() {
  const std::size_t end = received_.find('\n', taken_);
  if (end == std::string::npos) {
    received_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  std::string line = received_.substr(taken_, end - taken_);
  taken_ = end + 1;
  return line;
}

void Channel::send(const std::string& line) {
  if (!open()) return;
  unsent_ += line;
  flush();
}

void Channel::flush() {
  while (open() && !unsent_.empty()) {
    const ssize_t count = ::write(out_.get(), unsent_.data(), unsent_.size());
    if (count > 0) {
      unsent_.erase(0, static_cast<std::size_t>(count));
    } else if (would_block()) {
      return;
    } else {
      close();
    }
  }
}

void Channel::close() {
  in_ = sys::Fd();
  out_ = sys::Fd();
  unsent_.clear();
}

}  // namespace muster::agent
