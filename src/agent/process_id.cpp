#include <array>
#include <charconv>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/record.hpp"
#include "sys/file.hpp"

namespace muster::agent {
namespace {

// The name is in parentheses and may itself hold blanks and parentheses: what counts stands behind
// the last one. Field 3, the state, comes first there, and field 22 is the 20th.
constexpr int kStartAfterName = 19;

std::optional<std::uint64_t> start_of_living(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return std::nullopt;
  stat.remove_prefix(name_end + 2);
  if (stat.front() == 'Z' || stat.front() == 'X' || stat.front() == 'x') return std::nullopt;
  for (int field = 0; field < kStartAfterName; ++field) {
    const std::size_t blank = stat.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(blank + 1);
  }
  std::uint64_t start = 0;
  const auto parsed = std::from_chars(stat.data(), stat.data() + stat.size(), start);
  if (parsed.ec != std::errc()) return std::nullopt;
  return start;
}

}  // namespace

std::optional<ProcessId> identify(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const sys::Fd file(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  const auto start = start_of_living({text.data(), static_cast<std::size_t>(got)});
  if (!start) return std::nullopt;
  return ProcessId{.pid = pid, .start = *start};
}

bool is_alive(const ProcessId& process) {
  return identify(process.pid) == process;
}

}  // namespace muster::agent
