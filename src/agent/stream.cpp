#include "agent/stream.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace muster::agent {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
// What may wait for a slow engine: while the program runs it is then slowed down, as it would be
// without us; after its end only bytes in pipes are left, and what daemons of its make write.
constexpr std::size_t kWaitingBytes = std::size_t{64} << 10;
constexpr std::size_t kWaitingBytesAfterEnd = std::size_t{4} << 20;

Result<OutputChannel> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return unexpected(system_error("cannot make a pipe"));
  OutputChannel channel{.program_end = sys::Fd(ends[1]), .shim_end = sys::Fd(ends[0])};
  if (::fcntl(channel.shim_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return unexpected(system_error("cannot set up a pipe"));
  }
  return channel;
}

// Without ptsname and grantpt: static glibc would look up a group for them.
sys::Fd open_slave(int master) {
  int locked = 0;
  if (::ioctl(master, TIOCSPTLCK, &locked) != 0) return sys::Fd();
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  sys::Fd slave(::ioctl(master, TIOCGPTPEER, kFlags));
  if (slave.valid()) return slave;
  unsigned number = 0;  // before Linux 4.13
  if (::ioctl(master, TIOCGPTN, &number) != 0) return sys::Fd();
  return sys::Fd(::open(fmt::format("/dev/pts/{}", number).c_str(), kFlags));
}

Result<OutputChannel> open_terminal(int like) {
  OutputChannel channel{.terminal = true};
  channel.shim_end = sys::Fd(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (channel.shim_end.valid()) channel.program_end = open_slave(channel.shim_end.get());
  termios modes{};
  if (!channel.program_end.valid() || ::tcgetattr(channel.program_end.get(), &modes) != 0) {
    return unexpected(system_error("cannot make a pseudo-terminal"));
  }
  ::cfmakeraw(&modes);
  if (::tcsetattr(channel.program_end.get(), TCSANOW, &modes) != 0) {
    return unexpected(system_error("cannot set up a pseudo-terminal"));
  }
  winsize size{};
  if (::ioctl(like, TIOCGWINSZ, &size) == 0) {
    (void)::ioctl(channel.program_end.get(), TIOCSWINSZ, &size);
  }
  return channel;
}

}  // namespace

Result<OutputChannel> open_channel(int like) {
  if (::isatty(like) == 1) {
    if (auto channel = open_terminal(like)) return channel;
  }
  return open_pipe();
}

Stream::Stream(sys::Fd source, sys::Fd file, int engine, std::string label)
    : source_(std::move(source)),
      file_(std::move(file)),
      sink_(engine),
      lines_(std::move(label), sink_.max_block()) {}

void Stream::write_file(std::string_view bytes) {
  while (file_.valid() && !bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      file_error_ = errno;
      file_ = sys::Fd();
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void Stream::end() {
  source_ = sys::Fd();
  lines_.finish();
}

void Stream::read_some() {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(source_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return end();  // a pseudo-terminal ends with EIO
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  bytes_ += bytes.size();
  write_file(bytes);
  if (!sink_.closed()) lines_.add(bytes);
}

void Stream::read_rest() {
  const std::uint64_t most = bytes_ + kWaitingBytesAfterEnd;
  std::uint64_t before = bytes_;
  while (!ended() && bytes_ < most) {
    read_some();
    if (bytes_ == before) break;
    before = bytes_;
  }
  if (!ended()) end();
}

void Stream::send() {
  while (lines_.waiting() > 0) {
    const std::string_view block =
        sink_.closed() ? lines_.next(lines_.waiting()) : lines_.next(sink_.wanted_block());
    const std::size_t taken = sink_.put(block);
    if (taken == 0) return;
    lines_.take(taken);
  }
}

void Stream::fill(pollfd* entries, bool after_end) const {
  const bool hungry = lines_.waiting() < (after_end ? kWaitingBytesAfterEnd : kWaitingBytes);
  entries[0] = {.fd = !ended() && hungry ? source_.get() : -1, .events = POLLIN, .revents = 0};
  // Asked for nothing, poll still tells that nobody reads any more.
  const auto wanted = static_cast<short>(sink_.full() ? POLLOUT : 0);
  const bool waits = lines_.waiting() > 0 && !sink_.closed();
  entries[1] = {.fd = waits ? sink_.fd() : -1, .events = wanted, .revents = 0};
}

void Stream::handle(const pollfd* entries) {
  if (entries[1].fd >= 0 && (entries[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    sink_.close();
  }
  if (entries[0].fd >= 0 && entries[0].revents != 0) read_some();
}

nanoseconds Stream::pause() const {
  if (lines_.waiting() == 0 || sink_.full()) return nanoseconds(-1);
  return sink_.pause();
}

}  // namespace muster::agent
