#include "agent/channel.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "sys/local_socket.hpp"

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

Channel::Channel(sys::Fd socket)
    : in_(std::move(socket)), out_(::fcntl(in_.get(), F_DUPFD_CLOEXEC, 0)), is_socket_(true) {
  set_nonblocking(in_.get());
}

void Channel::receive(std::size_t most) {
  char bytes[65536];
  for (std::size_t got = 0; open() && got < most;) {
    const ssize_t count = is_socket_ ? sys::read_with_descriptors(in_.get(), bytes, descriptors_)
                                     : ::read(in_.get(), bytes, sizeof bytes);
    if (count > 0) {
      got += static_cast<std::size_t>(count);
      inbox_.add({bytes, static_cast<std::size_t>(count)});
      if (inbox_.broken()) close();
    } else if (count == 0 || !would_block()) {
      close();
    } else {
      return;
    }
  }
}

void Channel::send(std::string_view bytes) {
  if (!open()) return;
  unsent_ += bytes;
  flush();
}

void Channel::flush() {
  while (open() && has_unsent()) {
    const ssize_t count = ::write(out_.get(), unsent_.data() + sent_, unsent());
    if (count > 0) {
      sent_ += static_cast<std::size_t>(count);
    } else if (would_block()) {
      break;
    } else {
      close();
    }
  }
  // Erase only when half has been sent, so that a long queue is not moved for every piece.
  if (sent_ < unsent_.size() / 2) return;
  unsent_.erase(0, sent_);
  sent_ = 0;
}

void Channel::close() {
  in_ = sys::Fd();
  out_ = sys::Fd();
  unsent_.clear();
  sent_ = 0;
}

}  // namespace muster::agent
