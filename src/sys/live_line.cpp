#include "sys/live_line.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::sys {
namespace {

constexpr std::chrono::milliseconds kBetweenLines{100};
constexpr std::string_view kErase = "\r\033[K";

bool is_on_screen = false;  // global, because the process has only one terminal

bool can_show() {
  const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  if (kind != nullptr && std::string_view(kind) == "dumb") return false;
  pollfd writable = {STDERR_FILENO, POLLOUT, 0};
  return ::isatty(STDERR_FILENO) == 1 && ::poll(&writable, 1, 0) == 1;
}

std::size_t terminal_width() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

}  // namespace

void LiveLine::show(const std::string& text) {
  if (!can_show()) return;
  const std::string line = std::string(kErase) + text.substr(0, terminal_width() - 1);
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  is_on_screen = true;
}

void LiveLine::clear() {
  if (is_on_screen) (void)write_all(STDERR_FILENO, kErase);
  is_on_screen = false;
}

void Progress::show(std::string_view what, std::size_t done, std::size_t of_all) {
  const auto now = std::chrono::steady_clock::now();
  if (what == what_ && done < of_all && now - shown_at_ < kBetweenLines) return;
  what_ = what;
  shown_at_ = now;
  line_.show(fmt::format("{}: {} of {}", what, done, of_all));
}

OnProgress Progress::shown() {
  return [this](std::string_view what, std::size_t done, std::size_t of_all) {
    show(what, done, of_all);
  };
}

}  // namespace muster::sys
