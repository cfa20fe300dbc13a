#include "facts/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kMostLogBytes = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kLogTakes{500};

constexpr std::array<std::string_view, 28> kTelling = {"Out of memory",
                                                       "out of memory",
                                                       "oom-kill:",
                                                       "oom_reaper",
                                                       "NVRM",
                                                       "nvidia-nvswitch",
                                                       "amdgpu",
                                                       "mce:",
                                                       "Machine check",
                                                       "Hardware Error",
                                                       "EDAC",
                                                       "AER:",
                                                       "I/O error",
                                                       "Buffer I/O",
                                                       "EXT4-fs error",
                                                       "XFS (",
                                                       "Remounting filesystem",
                                                       "nfs: server",
                                                       "LustreError",
                                                       "Link is Down",
                                                       "Link is down",
                                                       "Link down",
                                                       "link is not ready",
                                                       "NETDEV WATCHDOG",
                                                       "segfault at",
                                                       "general protection",
                                                       "soft lockup",
                                                       "blocked for more than"};

bool is_telling(std::string_view text) {
  return std::any_of(kTelling.begin(), kTelling.end(), [&](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
}

}  // namespace

// Each read returns one record. After the last record, read fails with EAGAIN.
Result<std::string> read_kernel_records(int kmsg) {
  const auto end = std::chrono::steady_clock::now() + kLogTakes;
  std::string text;
  char record[8192];
  for (bool in_time = true; in_time && text.size() < kMostLogBytes;
       in_time = std::chrono::steady_clock::now() < end) {
    const ssize_t got = ::read(kmsg, record, sizeof record);
    if (got > 0) {
      text.append(record, static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EPERM) {
      return unexpected(system_error("cannot read the kernel's log", "/dev/kmsg"));
      // EPIPE means that a record was overwritten before it was read.
    } else if (got == 0 || (errno != EINTR && errno != EPIPE)) {
      break;
    }
  }
  return text;
}

std::vector<std::string> telling_kernel_lines(std::string_view records) {
  std::vector<std::string> lines;
  for (const std::string_view record : split(records, '\n')) {
    const std::size_t semicolon = record.find(';');
    // Lines that begin with a blank continue the previous record.
    if (record.starts_with(' ') || semicolon == std::string_view::npos) continue;
    const std::string_view text = record.substr(semicolon + 1);
    if (is_telling(text)) lines.push_back(printable(text.substr(0, kLongestKernelLine)));
  }
  // Keeps the first lines, which show the cause, and the last ones, which show the consequences.
  if (lines.size() > kMostKernelLines) {
    lines.erase(lines.begin() + kMostKernelLines / 2, lines.end() - kMostKernelLines / 2);
  }
  return lines;
}

KernelWatch::KernelWatch(const std::string& kmsg)
    : kmsg_(::open(kmsg.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (kmsg_.valid()) (void)::lseek(kmsg_.get(), 0, SEEK_END);
}

std::vector<std::string> KernelWatch::new_telling_lines() {
  if (!kmsg_.valid()) return {};
  const auto records = read_kernel_records(kmsg_.get());
  return records ? telling_kernel_lines(*records) : std::vector<std::string>();
}

}  // namespace muster::facts
