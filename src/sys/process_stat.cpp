#include "sys/process_stat.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::sys {
namespace {

// Field numbers as in proc(5).
constexpr int kState = 3;
constexpr int kParent = 4;
constexpr int kFlags = 9;
constexpr int kMajorFaults = 12;
constexpr int kUserTime = 14;
constexpr int kSystemTime = 15;
constexpr int kStartTime = 22;
constexpr std::uint64_t kExiting = 4;  // PF_EXITING

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  return bad == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // The command's name is in parentheses and may itself contain blanks and parentheses, so the
  // fields are counted from the last one.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  ProcessStat stat;
  std::uint64_t flags = 0;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  for (int field = kState; field <= kStartTime; ++field) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view value = text.substr(0, end);
    bool good = !value.empty();
    if (field == kState && good) stat.state = value.front();
    if (field == kParent) good = parse_number(value, stat.parent);
    if (field == kFlags) good = parse_number(value, flags);
    if (field == kMajorFaults) good = parse_number(value, stat.major_faults);
    if (field == kUserTime) good = parse_number(value, user);
    if (field == kSystemTime) good = parse_number(value, system);
    if (field == kStartTime) good = parse_number(value, stat.start_ticks);
    if (!good) return std::nullopt;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  stat.cpu_ticks = user + system;
  stat.exiting = (flags & kExiting) != 0;
  return stat;
}

std::optional<ProcessStat> read_process_stat(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const Fd file(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  // The kernel returns the whole line at the first read; the longest has about 1,100 bytes.
  std::array<char, 4096> text{};
  ssize_t got = -1;
  do {
    got = ::read(file.get(), text.data(), text.size());
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  return parse_process_stat({text.data(), static_cast<std::size_t>(got)});
}

}  // namespace muster::sys
