#include "inspect/host_look.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/netlink.hpp"
#include "facts/pseudo_file.hpp"
#include "inspect/process_texts.hpp"
#include "sys/file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kMostAddresses = 256;
constexpr std::size_t kMostFolders = 64;
constexpr std::uint64_t kLeastFree = std::uint64_t{16} << 20;
constexpr std::size_t kMostNcclBytes = std::size_t{16} << 10;
constexpr const char* kLinkDowned = "link_downed";
constexpr const char* kNoCarrier = "no carrier";

constexpr const char* kTroubleCounters[] = {"counters/symbol_error",
                                            "counters/link_downed",
                                            "counters/link_error_recovery",
                                            "counters/local_link_integrity_errors",
                                            "counters/excessive_buffer_overrun_errors",
                                            "counters/port_rcv_errors",
                                            "counters/port_rcv_remote_physical_errors",
                                            "counters/port_xmit_discards",
                                            "counters/port_xmit_wait",
                                            "hw_counters/local_ack_timeout_err",
                                            "hw_counters/packet_seq_err",
                                            "hw_counters/out_of_sequence",
                                            "hw_counters/out_of_buffer",
                                            "hw_counters/implied_nak_seq_err",
                                            "hw_counters/rnr_nak_retry_err",
                                            "hw_counters/req_transport_retries_exceeded",
                                            "hw_counters/req_rnr_retries_exceeded",
                                            "hw_counters/req_cqe_error",
                                            "hw_counters/resp_cqe_error",
                                            "hw_counters/roce_slow_restart",
                                            "hw_counters/rx_icrc_encapsulated"};

std::string address_of_interface(const sockaddr* address) {
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return facts::ip_text(AF_INET, {reinterpret_cast<const char*>(&v4->sin_addr), 4});
  }
  if (address->sa_family != AF_INET6) return {};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return {};
  return facts::ip_text(AF_INET6, {reinterpret_cast<const char*>(&v6->sin6_addr), 16});
}

const Counter* same_counter(std::span<const Counter> counters, const Counter& wanted) {
  const auto found = std::ranges::find_if(counters, [&](const Counter& one) {
    return one.device == wanted.device && one.name == wanted.name;
  });
  return found == counters.end() ? nullptr : &*found;
}

sys::Fd connect_to_loopback(int port, Deadline deadline) {
  sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!fd.valid()) return {};
  if (::connect(fd.get(), generic, sizeof address) != 0 && errno != EINPROGRESS) return {};
  if (!wait_for(fd.get(), POLLOUT, deadline)) return {};
  return fd;
}

}  // namespace

std::vector<std::string> host_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || addresses.size() == kMostAddresses) continue;
    const std::string text = address_of_interface(one->ifa_addr);
    if (!text.empty()) addresses.push_back(text);
  }
  ::freeifaddrs(list);
  return addresses;
}

double parse_load(std::string_view text) {
  // The text is "1.07 0.80 ...", always with two decimals.
  const auto columns = facts::words(text);
  const auto parts = facts::split(columns.empty() ? "" : columns[0], '.');
  if (parts.size() != 2 || parts[1].size() != 2) return 0;
  const auto whole = facts::number<unsigned>(parts[0]);
  const auto hundredths = facts::number<unsigned>(parts[1]);
  return whole && hundredths ? *whole + *hundredths / 100.0 : 0;
}

std::string full_disk_text(const std::string& folder, std::uint64_t total_bytes,
                           std::uint64_t free_bytes) {
  // File systems without real files, such as /proc, have no size.
  if (total_bytes == 0) return {};
  if (free_bytes >= kLeastFree && free_bytes >= total_bytes / 100) return {};
  return fmt::format("{} ({} bytes left)", printable(folder), free_bytes);
}

std::vector<std::string> full_disks(std::span<const pid_t> pids) {
  std::vector<std::string> folders = {"/", "/tmp", "/dev/shm"};
  for (const pid_t pid : pids) {
    if (folders.size() < kMostFolders)
      folders.push_back(link_target(fmt::format("/proc/{}/cwd", pid)));
  }
  std::set<unsigned long> seen;  // several folders may be on one file system
  std::vector<std::string> full;
  for (const std::string& folder : folders) {
    struct statvfs status{};
    if (folder.empty() || ::statvfs(folder.c_str(), &status) != 0) continue;
    if ((status.f_flag & ST_RDONLY) != 0) continue;  // read-only file systems are always full
    if (status.f_fsid != 0 && !seen.insert(status.f_fsid).second) continue;
    const bool is_root = ::geteuid() == 0;  // root may use the reserved space too
    const std::uint64_t blocks = is_root ? status.f_bfree : status.f_bavail;
    std::string text =
        full_disk_text(folder, status.f_blocks * status.f_frsize, blocks * status.f_frsize);
    if (!text.empty() && std::ranges::find(full, text) == full.end()) full.push_back(text);
  }
  return full;
}

std::vector<Counter> read_counters(const std::string& root) {
  std::vector<Counter> counters;
  for (const std::string& device : facts::names_in(root)) {
    for (const std::string& port : facts::names_in(root + "/" + device + "/ports")) {
      const std::string folder = root + "/" + device + "/ports/" + port + "/";
      for (const std::string path : kTroubleCounters) {
        const auto value = facts::number<std::int64_t>(facts::first_line(folder + path));
        if (!value) continue;
        counters.push_back({.device = printable(device + "/" + port),
                            .name = path.substr(path.find('/') + 1),
                            .value = *value});
      }
    }
  }
  return counters;
}

std::vector<Counter> read_dead_interfaces(const std::string& root) {
  std::vector<Counter> counters;
  for (const std::string& name : facts::names_in(root)) {
    const std::string folder = root + "/" + name + "/";
    // Reading fails for an interface that is switched off. Only a lost cable gives 0.
    if (facts::first_line(folder + "carrier") != "0") continue;
    if (facts::first_line(folder + "operstate") != "down") continue;
    // Skip bridges: a container engine keeps one without members.
    if (sys::exists(folder + "bridge")) continue;
    counters.push_back({.device = printable(name), .name = kNoCarrier, .value = 1});
  }
  return counters;
}

std::vector<Counter> compare_counters(std::span<const Counter> before,
                                      std::span<const Counter> after) {
  std::vector<Counter> telling;
  for (Counter now : after) {
    const Counter* const earlier = same_counter(before, now);
    // Some counters stop at their largest value. None is ever negative, so such a value is ignored.
    if (earlier != nullptr && now.value > earlier->value && earlier->value >= 0) {
      now.change = now.value - earlier->value;
    }
    const bool always_tells = now.name == kLinkDowned || now.name == kNoCarrier;
    if (now.change > 0 || (always_tells && now.value > 0)) telling.push_back(now);
  }
  return telling;
}

std::string ask_nccl(int port, Deadline deadline) {
  const sys::Fd fd = connect_to_loopback(port, deadline);
  if (!fd.valid()) return {};
  // NCCL's default time limit is 5 s, so a single rank that does not respond would use up our time.
  constexpr std::string_view kQuestion = "timeout 1\nstatus\n";
  if (::send(fd.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  std::array<char, 4096> buffer{};
  while (answer.size() < kMostNcclBytes && wait_for(fd.get(), POLLIN, deadline)) {
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  answer.resize(std::min(answer.size(), kMostNcclBytes));
  if (answer.starts_with("OK\n")) answer.erase(0, 3);
  return printable_lines(answer);
}

}  // namespace muster::inspect
