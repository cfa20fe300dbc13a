#include "setup/person.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::setup {
namespace {

using Clock = std::chrono::steady_clock;

// Whether there is input before the deadline.
bool typed(int terminal, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{terminal, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&polled, 1, static_cast<int>(left)) : 0;
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// Turns the echo off. Also turns signals off meanwhile, because after Ctrl-C the terminal would
// stay without echo.
class Keyboard {
 public:
  Keyboard() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (::tcgetattr(terminal_.get(), &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
    good_ = ::tcsetattr(terminal_.get(), TCSAFLUSH, &raw) == 0;
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;
  ~Keyboard() {
    if (good_) ::tcsetattr(terminal_.get(), TCSAFLUSH, &before_);
  }

  std::optional<Secret> line() {
    return good_ ? typed_line(terminal_.get(), Clock::now() + kAnswerDeadline) : std::nullopt;
  }

 private:
  sys::Fd terminal_;
  termios before_ = {};
  bool good_ = false;
};

}  // namespace

std::optional<Secret> typed_line(int terminal, Clock::time_point deadline) {
  constexpr char kInterrupt = 3;
  constexpr char kEndOfFile = 4;
  constexpr char kDelete = 127;
  std::optional<Secret> line(std::in_place);
  char key = 0;
  while (typed(terminal, deadline) && ::read(terminal, &key, 1) == 1) {
    if (key == '\n' || key == '\r') return line;
    if (key == kInterrupt || key == kEndOfFile) return std::nullopt;
    if (key == kDelete || key == '\b') {
      line->drop_last();
    } else {
      line->add(key);
    }
  }
  return std::nullopt;
}

std::string offers_table(std::span<const KeyOffer> offers) {
  std::size_t host = 4;
  std::size_t address = 7;
  std::size_t type = 4;
  for (const KeyOffer& offer : offers) {
    host = std::max(host, offer.host.size());
    address = std::max(address, offer.address.size());
    type = std::max(type, offer.key.type.size());
  }
  std::string table;
  const auto row = [&](std::string_view a, std::string_view b, std::string_view c,
                       std::string_view d) {
    table += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}\n", a, host, b, address, c, type, d);
  };
  row("HOST", "ADDRESS", "TYPE", "FINGERPRINT");
  for (const KeyOffer& offer : offers) {
    row(offer.host, offer.address, offer.key.type, offer.key.fingerprint);
  }
  return table;
}

bool TerminalPerson::present() const {
  if (::isatty(STDERR_FILENO) == 0) return false;
  return sys::Fd(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)).valid();
}

bool TerminalPerson::accept(std::span<const KeyOffer> offers) {
  tell(fmt::format(
      "The host keys of these hosts are not known yet. Compare them with what each host's "
      "console\n(ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) or your provider "
      "shows:\n{}Accept and pin {}? (yes/no) ",
      offers_table(offers), offers.size() == 1 ? "it" : fmt::format("all {}", offers.size())));
  const sys::Fd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!typed(terminal.get(), Clock::now() + kAnswerDeadline)) return false;
  char buffer[64] = {};
  const ssize_t got = ::read(terminal.get(), buffer, sizeof buffer);
  return got > 0 && std::string_view(buffer, static_cast<std::size_t>(got)) == "yes\n";
}

std::optional<Secret> TerminalPerson::secret(const std::string& prompt) {
  Keyboard keyboard;  // before the prompt, so that early keystrokes are not shown either
  tell(prompt);
  auto line = keyboard.line();
  tell("\n");
  return line;
}

void TerminalPerson::tell(const std::string& text) {
  sys::write_err(text);
}

}  // namespace muster::setup
