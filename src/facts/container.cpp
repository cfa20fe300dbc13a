#include "facts/container.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <linux/capability.h>
#include <sys/uio.h>
#include <unistd.h>

#include "facts/pseudo_file.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Tries to read this process's own memory. That needs no privilege, so only a filter of system
// calls can forbid it.
std::optional<bool> may_read_memory_of_others() {
  char from = 'x';
  char to = ' ';
  const iovec local{.iov_base = &to, .iov_len = 1};
  const iovec remote{.iov_base = &from, .iov_len = 1};
  if (::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1) return true;
  return errno == EPERM ? std::optional(false) : std::nullopt;
}

std::string engine_here() {
  const std::string mounts = read_start("/proc/self/mountinfo", std::size_t{1} << 20).value_or("");
  std::string engine = engine_in_mounts(mounts);
  if (!engine.empty()) return engine;
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    return "kubernetes";
  }
  if (::access("/run/.containerenv", F_OK) == 0) return "podman";
  return ::access("/.singularity.d", F_OK) == 0 ? "apptainer" : "";
}

}  // namespace

std::string engine_in_mounts(std::string_view mountinfo) {
  // Columns of "36 35 98:0 /root-of-the-mount /mount-point options ...".
  constexpr std::size_t kRoot = 3;
  constexpr std::size_t kPoint = 4;
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kEngines = {
      {{"/kubelet/pods/", "kubernetes"},
       {"/docker/containers/", "docker"},
       {"/nerdctl/", "containerd"},
       {"-containers/", "podman"}}};
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto parts = words(line);
    if (parts.size() <= kPoint) continue;
    const std::string_view point = parts[kPoint];
    if (point != "/etc/hosts" && point != "/etc/hostname" && point != "/etc/resolv.conf") continue;
    for (const auto& [part, engine] : kEngines) {
      if (holds(parts[kRoot], part)) return engine;
    }
  }
  return {};
}

std::vector<std::string> lacking_capabilities(std::string_view status) {
  constexpr std::array<std::pair<int, const char*>, 3> kUsed = {
      {{CAP_IPC_LOCK, "IPC_LOCK"}, {CAP_SYS_NICE, "SYS_NICE"}, {CAP_SYS_PTRACE, "SYS_PTRACE"}}};
  for (const std::string_view line : split(status, '\n')) {
    const auto parts = words(line);
    if (parts.size() != 2 || parts[0] != "CapBnd:") continue;
    const auto bits = number<std::uint64_t>(parts[1], 16);
    std::vector<std::string> lacking;
    for (const auto& [bit, name] : kUsed) {
      if (bits && (*bits >> bit & 1) == 0) lacking.emplace_back(name);
    }
    return lacking;
  }
  return {};
}

bool may_open_verbs(const std::string& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with("uverbs")) continue;
    if (::access(entry->path().c_str(), R_OK | W_OK) == 0) return true;
  }
  return false;
}

std::string bundle_owner(std::string_view ssh_config) {
  constexpr std::string_view kSign = "# muster bundle: owner ";
  const std::string_view line = ssh_config.substr(0, ssh_config.find('\n'));
  if (!line.starts_with(kSign)) return {};
  const std::string_view owner = line.substr(kSign.size());
  const bool is_plain =
      !owner.empty() && owner.find_first_not_of("0123456789:") == std::string_view::npos;
  return is_plain ? std::string(owner) : std::string();
}

Container read_container(const std::string& home) {
  Container container;
  container.bundle_owner = bundle_owner(read_start(home + "/.ssh/config", 256).value_or(""));
  container.engine = engine_here();
  if (container.engine.empty()) return container;
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  if (!boot.empty()) container.machine = sys::hash_text(boot).substr(0, 12);
  container.lacks = lacking_capabilities(read_start("/proc/self/status").value_or(""));
  container.reads_memory = may_read_memory_of_others();
  container.opens_rdma = may_open_verbs();
  return container;
}

}  // namespace muster::facts
