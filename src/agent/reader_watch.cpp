#include "agent/reader_watch.hpp"

#include <array>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace muster::agent {
namespace {

// What follows "\nNAME:\t".
std::string_view field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  return at == std::string_view::npos ? std::string_view() : status.substr(at + name.size());
}

}  // namespace

// The main thread's: engines read there.
ReaderWatch::ReaderWatch(pid_t reader)
    : wait_channel_(
          ::open(fmt::format("/proc/{0}/task/{0}/wchan", reader).c_str(), O_RDONLY | O_CLOEXEC)),
      status_(
          ::open(fmt::format("/proc/{0}/task/{0}/status", reader).c_str(), O_RDONLY | O_CLOEXEC)) {}

std::optional<ReaderWatch::State> ReaderWatch::look() const {
  std::array<char, 4096> text;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::pread(status_.get(), text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;
  const std::string_view status(text.data(), static_cast<std::size_t>(got));
  const std::string_view sleeps = field(status, "\nvoluntary_ctxt_switches:\t");
  State state{.asleep = field(status, "\nState:\t").starts_with('S')};
  const auto parsed = std::from_chars(sleeps.data(), sleeps.data() + sleeps.size(), state.sleeps);
  if (sleeps.empty() || parsed.ec != std::errc()) return std::nullopt;
  return state;
}

// A kernel that does not tell says "0" or nothing.
bool ReaderWatch::waits_for_input() const {
  std::array<char, 64> text{};
  const ssize_t got = ::pread(wait_channel_.get(), text.data(), text.size(), 0);
  const std::string_view where(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const bool told = !where.empty() && where != "0";
  return !told || where.find("poll") != std::string_view::npos ||
         where.find("select") != std::string_view::npos;
}

void ReaderWatch::before_write() {
  before_ = look();
}

std::optional<bool> ReaderWatch::has_slept() const {
  const auto now = look();
  if (!before_ || !now) return std::nullopt;
  return now->asleep && now->sleeps > before_->sleeps && waits_for_input();
}

}  // namespace muster::agent
