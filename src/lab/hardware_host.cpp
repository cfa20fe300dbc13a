#include "lab/hardware_host.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lab/hardware_tree.hpp"
#include "lab/interfaces.hpp"
#include "lab/node.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"

namespace muster::lab {
namespace {

constexpr uid_t kNobody = 65534;
constexpr std::string_view kForeignProgram = "/run/python3";

std::string damage_file(const Spec& spec, int host) {
  return host_folder(spec.name, host_name(host)) + "/damage";
}

int machine_cpus() {
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

// The host's damage so far, as lines "NAME ARGUMENT".
std::string recorded_damage(const Spec& spec, int host) {
  return sys::read_file(damage_file(spec, host)).value_or("");
}

Result<Hardware> damaged_hardware(const Spec& spec, int host, const std::string& damage_lines) {
  MUSTER_TRY(Hardware hardware, healthy_hardware(spec, host));
  std::istringstream lines(damage_lines);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const Damage* damage = find_damage(line.substr(0, space));
    if (damage == nullptr) continue;
    MUSTER_CHECK(damage->apply(hardware, line.substr(std::min(space + 1, line.size()))));
  }
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  hardware.uptime_us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  return hardware;
}

struct Parts {
  HardwareFiles files;
  Tree at_boot;  // created in /dev at each boot
};

Parts split(Tree tree) {
  Parts parts;
  for (auto& [path, entry] : tree) {
    const bool mounted = path.starts_with("/sys/") || path.starts_with("/proc/");
    Tree& part = mounted                     ? parts.files.mounted
                 : path.starts_with("/dev/") ? parts.at_boot
                                             : parts.files.on_disk;
    part.emplace(path, std::move(entry));
  }
  return parts;
}

// The overlay over /sys remembers the folders of interfaces that the kernel has removed meanwhile,
// and gives ESTALE for them even after they have returned. Remounting resets that.
Result<void> forget_old_interfaces() {
  if (::mount("overlay", "/sys", nullptr, MS_REMOUNT, nullptr) == 0) return {};
  return unexpected(system_error("cannot remount", "/sys"));
}

Result<void> rewrite_shown(const Tree& before, const Tree& wanted) {
  MUSTER_CHECK(forget_old_interfaces());
  return write_tree("", before, wanted);
}

// Writes the files from inside the host, through its mounts, because an overlay does not notice
// changes that are made directly to its layers.
Result<void> write_inside(const Spec& spec, int host, const Tree& before, const Tree& wanted) {
  MUSTER_TRY(const int code, inside(spec, host_name(host), As::kRoot, [&] {
               const auto written = rewrite_shown(before, wanted);
               if (!written) sys::print_err("muster: {}\n", to_text(written.error()));
               return written ? 0 : 1;
             }));
  if (code == 0) return {};
  return unexpected(
      Error{.what = "cannot change what the host shows", .where = {.host = host_name(host)}});
}

Result<void> write_on_disk(const Spec& spec, int host, Tree before, Tree wanted) {
  const HardwareFiles old = split(std::move(before)).files, now = split(std::move(wanted)).files;
  const std::string folder = host_folder(spec.name, host_name(host));
  MUSTER_CHECK(write_tree(folder + "/hardware", old.mounted, now.mounted));
  return write_tree(folder + "/upper", old.on_disk, now.on_disk);
}

Result<void> set_mtu(const Spec& spec, pid_t host_pid, const RdmaDevice& device) {
  MUSTER_TRY(const sys::Ended ended,
             sys::run({.argv = in_network_of(host_pid, {"ip", "link", "set", device.interface,
                                                        "mtu", fmt::format("{}", device.mtu)}),
                       .env = {mark(spec.name)}}));
  if (ended.ok()) return {};
  return unexpected(Error{.what = fmt::format("cannot set the MTU: {}", ended.err)});
}

Result<void> plug_in(const Spec& spec, int host, pid_t pid, const RailInterface& rail) {
  MUSTER_CHECK(in_switch(spec.name, plan_rail_cable({host, pid}, rail)));
  if (!rail.up) return {};
  MUSTER_TRY(const int code, inside(spec, host_name(host), As::kNetworkRoot, [&] {
               return bring_up(rail.interface, rail.addresses()) ? 0 : 1;
             }));
  if (code == 0) return {};
  return unexpected(Error{.what = fmt::format("cannot set up {}", rail.interface)});
}

// Adds and removes the interfaces of cards that were added and removed.
Result<void> change_network(const Spec& spec, int host, pid_t pid, const Hardware& before,
                            const Hardware& wanted) {
  for (const RailInterface& rail : rail_interfaces(before)) {
    const auto at = static_cast<std::size_t>(rail.number);
    const RdmaDevice &old = before.rdma[at], &now = wanted.rdma[at];
    const std::string port = rail_port_name(host, rail.number);
    if (!old.present && now.present) {
      MUSTER_CHECK(plug_in(spec, host, pid, rail));
    } else if (!now.present) {
      if (old.present) MUSTER_CHECK(in_switch(spec.name, fmt::format("link del {}\n", port)));
      continue;
    }
    const bool was_up = old.state.starts_with("4"), is_up = now.state.starts_with("4");
    if (rail.in_switch && was_up != is_up) {
      MUSTER_CHECK(
          in_switch(spec.name, fmt::format("link set {} {}\n", port, is_up ? "up" : "down")));
    }
    if (old.mtu != now.mtu) MUSTER_CHECK(set_mtu(spec, pid, now));
  }
  return {};
}

// Executes a copy of sleep under another name in place of this process. The environment contains
// only PATH and the lab's mark.
[[noreturn]] void sleep_as(const Spec& spec, std::string_view path, const char* name) {
  const std::string program(path), marked = mark(spec.name);
  const char* argv[] = {name, "infinity", nullptr};
  const char* env[] = {"PATH=/usr/bin:/bin", marked.c_str(), nullptr};
  ::execve(program.c_str(), const_cast<char* const*>(argv), const_cast<char* const*>(env));
  ::_exit(127);
}

[[noreturn]] void be_fabric_manager(const Spec& spec) {
  sleep_as(spec, kFabricManager, "/usr/bin/nv-fabricmanager");
}

// Runs inside the host: kills every process of this name. The kernel has cut the name to 15
// characters.
int end_processes_named(const std::string& name) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto comm = sys::read_file(entry.path() / "comm");
    if (comm && *comm == name + "\n") ::kill(std::stoi(pid), SIGKILL);
  }
  return 0;
}

Result<void> change_services(const Spec& spec, int host, const Hardware& before,
                             const Hardware& wanted) {
  if (before.fabric_manager == wanted.fabric_manager) return {};
  if (!wanted.fabric_manager) {
    MUSTER_TRY(const int code, inside(spec, host_name(host), As::kRoot,
                                      [] { return end_processes_named("nv-fabricmanage"); }));
    (void)code;  // the process may have ended by itself
    return {};
  }
  const auto nothing = []() -> Result<void> { return {}; };
  MUSTER_TRY(const pid_t pid, leave_inside(spec, host_name(host), As::kRoot, nothing,
                                           [&] { be_fabric_manager(spec); }));
  (void)pid;
  return {};
}

Result<void> change(const Spec& spec, int host, const Hardware& before, const Hardware& wanted) {
  MUSTER_TRY(const pid_t pid, first_process(spec, host_name(host)));
  MUSTER_CHECK(change_network(spec, host, pid, before, wanted));
  MUSTER_CHECK(change_services(spec, host, before, wanted));
  return write_inside(spec, host, hardware_tree(before, machine_cpus()),
                      hardware_tree(wanted, machine_cpus()));
}

// The PID that the process has on the host: the last number in the line NSpid.
Result<int> pid_on_host(pid_t pid) {
  MUSTER_TRY(const std::string status, sys::read_file(fmt::format("/proc/{}/status", pid)));
  const std::size_t start = status.find("NSpid:");
  if (start == std::string::npos) return unexpected(Error{.what = "the process has ended"});
  const std::string line = status.substr(start, status.find('\n', start) - start);
  return std::stoi(line.substr(line.rfind('\t') + 1));
}

Result<int> start_foreign_process(const Spec& spec, int host) {
  const auto prepare = [&]() -> Result<void> {
    const std::string program(kForeignProgram);
    ::unlink(program.c_str());
    if (::symlink("/bin/sleep", program.c_str()) != 0) {
      return unexpected(system_error("cannot make the link", program));
    }
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
      return unexpected(system_error("cannot become another user"));
    }
    return {};
  };
  MUSTER_TRY(const pid_t pid, leave_inside(spec, host_name(host), As::kRoot, prepare, [&] {
               sleep_as(spec, kForeignProgram, "/opt/env/bin/python3");
             }));
  return pid_on_host(pid);
}

Result<void> need_profile(const Spec& spec, int host) {
  if (!spec.like.empty() && host != 0) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = spec.like.empty() ? "the hosts of this lab show no hardware"
                                      : "the launcher shows no hardware",
            .hint = spec.like.empty()
                        ? "create the lab like a machine: muster lab up --nodes 4 --like dgx-h100"
                        : "name one of the other hosts, such as n2"});
}

}  // namespace

HardwareFiles healthy_files(const Spec& spec, int host) {
  const auto hardware = healthy_hardware(spec, host);
  return hardware ? split(hardware_tree(*hardware, machine_cpus())).files : HardwareFiles{};
}

Result<void> boot_hardware(const Spec& spec, int host) {
  if (spec.like.empty() || host == 0) return {};
  MUSTER_TRY(const Hardware hardware, healthy_hardware(spec, host));
  MUSTER_CHECK(write_tree("", {}, split(hardware_tree(hardware, machine_cpus())).at_boot));
  if (!hardware.fabric_manager || ::fork() != 0) return {};
  ::prctl(PR_SET_PDEATHSIG, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::setsid();
  be_fabric_manager(spec);
}

Result<void> damage_host(const Spec& spec, int host, const Damage& damage,
                         const std::string& argument) {
  MUSTER_CHECK(need_profile(spec, host));
  const std::string recorded = recorded_damage(spec, host);
  MUSTER_TRY(const Hardware before, damaged_hardware(spec, host, recorded));
  std::string line = fmt::format("{} {}\n", damage.name, argument);
  MUSTER_TRY(Hardware wanted, damaged_hardware(spec, host, recorded + line));
  if (damage.name == kForeignProcess) {
    MUSTER_TRY(const int pid, start_foreign_process(spec, host));
    line = fmt::format("{} {}:{}\n", damage.name, argument, pid);
    MUSTER_TRY(wanted, damaged_hardware(spec, host, recorded + line));
  }
  MUSTER_CHECK(change(spec, host, before, wanted));
  return sys::write_file(damage_file(spec, host), recorded + line, 0644);
}

Result<void> mend_hardware(const Spec& spec, int host) {
  const std::string recorded = recorded_damage(spec, host);
  if (recorded.empty()) return {};
  MUSTER_TRY(const Hardware before, damaged_hardware(spec, host, recorded));
  MUSTER_TRY(const Hardware wanted, healthy_hardware(spec, host));
  if (node_pid(spec.name, host_name(host))) {
    for (const Gpu& gpu : before.gpus) {
      for (const GpuProcess& process : gpu.processes) {
        MUSTER_TRY(const int code, inside(spec, host_name(host), As::kRoot,
                                          [&] { return ::kill(process.pid, SIGKILL); }));
        (void)code;  // the process may have ended by itself
      }
    }
    MUSTER_CHECK(change(spec, host, before, wanted));
  } else {
    MUSTER_CHECK(write_on_disk(spec, host, hardware_tree(before, machine_cpus()),
                               hardware_tree(wanted, machine_cpus())));
  }
  return sys::write_file(damage_file(spec, host), "", 0644);
}

}  // namespace muster::lab
