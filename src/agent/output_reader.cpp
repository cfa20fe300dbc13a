#include "agent/output_reader.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace muster::agent {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::uint64_t kRestBytes = std::uint64_t{4} << 20;

// Opens the program's end of the pseudo-terminal. Avoids ptsname and grantpt, which in a static
// glibc look up a group.
sys::Fd open_slave(int master) {
  int locked = 0;
  if (::ioctl(master, TIOCSPTLCK, &locked) != 0) return sys::Fd();
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  sys::Fd slave(::ioctl(master, TIOCGPTPEER, kFlags));
  if (slave.valid()) return slave;
  unsigned number = 0;  // needed before Linux 4.13
  if (::ioctl(master, TIOCGPTN, &number) != 0) return sys::Fd();
  return sys::Fd(::open(fmt::format("/dev/pts/{}", number).c_str(), kFlags));
}

}  // namespace

Result<OutputChannel> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return unexpected(system_error("cannot make a pipe"));
  OutputChannel channel{.program_end = sys::Fd(ends[1]), .our_end = sys::Fd(ends[0])};
  if (::fcntl(channel.our_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return unexpected(system_error("cannot set up a pipe"));
  }
  return channel;
}

Result<OutputChannel> open_terminal() {
  OutputChannel channel;
  channel.our_end = sys::Fd(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (channel.our_end.valid()) channel.program_end = open_slave(channel.our_end.get());
  termios modes{};
  if (!channel.program_end.valid() || ::tcgetattr(channel.program_end.get(), &modes) != 0) {
    return open_pipe();
  }
  ::cfmakeraw(&modes);
  if (::tcsetattr(channel.program_end.get(), TCSANOW, &modes) != 0) return open_pipe();
  return channel;
}

bool has_terminals() {
  const auto channel = open_terminal();
  return channel && ::isatty(channel->program_end.get()) == 1;
}

void OutputReader::read_some(const Take& take) {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(source_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {  // a pseudo-terminal reports its end as EIO
    source_ = sys::Fd();
    return;
  }
  take(which_, bytes_, {buffer.data(), static_cast<std::size_t>(got)});
  bytes_ += static_cast<std::uint64_t>(got);
}

void OutputReader::read_rest(const Take& take) {
  const std::uint64_t most = bytes_ + kRestBytes;
  for (std::uint64_t before = bytes_ + 1; !ended() && bytes_ < most && before != bytes_;) {
    before = bytes_;
    read_some(take);
  }
  source_ = sys::Fd();
}

}  // namespace muster::agent
