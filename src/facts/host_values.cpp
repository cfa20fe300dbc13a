#include "facts/host_values.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts/pseudo_file.hpp"
#include "sys/process.hpp"

namespace muster::facts {
namespace {

std::int64_t limit_value(rlim_t value) {
  constexpr auto kMost = static_cast<rlim_t>(INT64_MAX);
  return value == RLIM_INFINITY || value > kMost ? -1 : static_cast<std::int64_t>(value);
}

Limit read_limit(__rlimit_resource_t which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return {};
  return {.soft = limit_value(limit.rlim_cur), .hard = limit_value(limit.rlim_max)};
}

// Parses "MemTotal:       16314540 kB".
std::int64_t memory_bytes(std::string_view meminfo) {
  const auto parts = words(meminfo.substr(0, meminfo.find('\n')));
  if (parts.size() < 2 || parts[0] != "MemTotal:") return 0;
  return number<std::int64_t>(parts[1]).value_or(0) * 1024;
}

void read_shm(Facts& facts) {
  struct statvfs shm{};
  if (::statvfs("/dev/shm", &shm) != 0) return;
  const auto unit = static_cast<std::int64_t>(shm.f_frsize);
  facts.shm_bytes = static_cast<std::int64_t>(shm.f_blocks) * unit;
  facts.shm_free_bytes = static_cast<std::int64_t>(shm.f_bavail) * unit;
}

void read_port_range(Facts& facts) {
  const std::string line = first_line("/proc/sys/net/ipv4/ip_local_port_range");
  const auto parts = words(line);
  if (parts.size() == 2) {
    facts.port_range_first = number<int>(parts[0]).value_or(0);
    facts.port_range_last = number<int>(parts[1]).value_or(0);
  }
  if (facts.port_range_last == 0) {
    facts.not_seen.push_back({.what = "port_range", .why = "ip_local_port_range cannot be read"});
  }
}

}  // namespace

std::string parse_os_release(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    constexpr std::string_view kName = "PRETTY_NAME=";
    if (!line.starts_with(kName)) continue;
    line = trimmed(line.substr(kName.size()));
    if (line.size() > 1 && (line[0] == '"' || line[0] == '\'') && line.back() == line[0]) {
      line = line.substr(1, line.size() - 2);
    }
    return std::string(line);
  }
  return {};
}

std::vector<std::string> parse_ahosts(std::string_view text) {
  std::vector<std::string> addresses;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.empty()) continue;
    const std::string address(parts[0].substr(0, parts[0].find('%')));  // without its zone
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.push_back(address);
    }
  }
  return addresses;
}

bool locks_without_limit(std::string_view status, std::string_view uid_map) {
  constexpr unsigned kIpcLock = 14;  // number of the bit in a set of capabilities
  constexpr std::string_view kEffective = "CapEff:";
  const auto map = words(uid_map);
  if (map.size() != 3 || map[0] != "0" || map[1] != "0" || map[2] != "4294967295") return false;
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with(kEffective)) continue;
    const std::string_view digits = trimmed(line.substr(kEffective.size()));
    std::uint64_t set = 0;
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), set, 16);
    return (set >> kIpcLock & 1U) != 0;
  }
  return false;
}

void read_host_values(Facts& facts) {
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    facts.hostname = kernel.nodename;
    facts.kernel = kernel.release;
  }
  facts.os = parse_os_release(read_start("/etc/os-release").value_or(""));
  if (facts.os.empty()) facts.os = parse_os_release(read_start("/usr/lib/os-release").value_or(""));
  facts.memory_bytes = memory_bytes(read_start("/proc/meminfo", 4096).value_or(""));
  if (facts.memory_bytes == 0) {
    facts.not_seen.push_back({.what = "memory", .why = "/proc/meminfo cannot be read"});
  }
  facts.limits = {.nofile = read_limit(RLIMIT_NOFILE),
                  .memlock = read_limit(RLIMIT_MEMLOCK),
                  .nproc = read_limit(RLIMIT_NPROC)};
  if (locks_without_limit(read_start("/proc/self/status", 4096).value_or(""),
                          read_start("/proc/self/uid_map").value_or(""))) {
    facts.limits.memlock = {.soft = -1, .hard = -1};
  }
  read_shm(facts);
  read_port_range(facts);
}

Result<std::vector<std::string>> resolve(const std::string& name,
                                         std::chrono::milliseconds deadline) {
  MUSTER_TRY(
      const sys::Ended asked,
      sys::run({.argv = {"getent", "ahosts", name}, .env = {"LC_ALL=C"}, .deadline = deadline}));
  constexpr int kUnknown = 2;  // getent's exit code for an unknown name
  if (asked.ok() || (asked.code == kUnknown && asked.signal == 0 && !asked.timed_out)) {
    return parse_ahosts(asked.out);
  }
  return unexpected(Error{.what = fmt::format("getent ahosts {}: {}", name, to_text(asked))});
}

}  // namespace muster::facts
