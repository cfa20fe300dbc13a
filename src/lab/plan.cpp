#include "lab/plan.hpp"

#include <array>

#include <fmt/format.h>

#include "lab/hardware_tree.hpp"

namespace muster::lab {
namespace {

// Like Debian's configuration, but with password logins and a log that tests can read.
constexpr std::string_view kSshdConfig = R"(Port 22
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin no
PasswordAuthentication yes
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
)";

// All that a login shell needs. To run the machine's own profile can take half a second.
constexpr std::string_view kProfile = "PATH=/usr/local/bin:/usr/bin:/bin\nexport PATH\n";

std::string hosts_file(const Spec& spec) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n";
  for (int host = 0; host <= spec.hosts; ++host) {
    for (int nic = 0; nic < spec.nics; ++nic) {
      for (const HostAddress& one : addresses(spec, host, nic)) {
        text += fmt::format("{} {}{}\n", one.ip, host_name(host), nic == 0 ? "" : "-b");
      }
    }
  }
  return text;
}

// Appends a line to a text whose last newline may be missing.
std::string with_line(std::string text, const std::string& line) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + line + "\n";
}

// Copies muster itself and the programs that it starts on the hosts.
void plan_programs(const std::string& common, const Machine& machine,
                   std::vector<Operation>& plan) {
  std::vector<Copied> files = {{machine.muster, "/usr/local/bin/muster"}};
  files.insert(files.end(), machine.programs.begin(), machine.programs.end());
  for (const Copied& file : files) {
    plan.emplace_back(MakeMountPoint{common + file.to.substr(0, file.to.rfind('/'))});
    plan.emplace_back(CopyFile{.from = file.from, .to = common + file.to});
  }
}

void plan_common(const Spec& spec, const Machine& machine, std::vector<Operation>& plan) {
  const std::string common = host_folder(spec.name, "common");
  const std::string etc = common + "/etc";
  const std::string home = "/home/" + spec.user;
  const auto write = [&](const std::string& path, std::string content, mode_t mode = 0644) {
    plan.emplace_back(WriteFile{.path = path, .content = std::move(content), .mode = mode});
  };
  plan.emplace_back(MakeFolder{.path = etc + "/ssh"});
  plan.emplace_back(MakeFolder{.path = common + "/root", .mode = 0700});
  plan.emplace_back(MakeFolder{.path = common + "/home"});
  plan.emplace_back(MakeFolder{.path = common + home, .mode = 0755, .owner = spec.uid});
  write(etc + "/passwd", with_line(machine.passwd, fmt::format("{0}:x:{1}:{1}::{2}:/bin/bash",
                                                               spec.user, spec.uid, home)));
  write(etc + "/group", with_line(machine.group, fmt::format("{}:x:{}:", spec.user, spec.uid)));
  write(etc + "/shadow",
        with_line(machine.shadow,
                  fmt::format("{}:{}:19000:0:99999:7:::", spec.user, machine.password_hash)),
        0600);
  write(etc + "/hosts", hosts_file(spec));
  write(etc + "/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n");
  write(etc + "/resolv.conf", "");
  write(etc + "/profile", std::string(kProfile));
  write(etc + "/bash.bashrc", "");
  write(etc + "/environment", "");
  write(etc + "/ssh/sshd_config", std::string(kSshdConfig));
  write(etc + "/ssh/ssh_config", "");
  for (const char* name : {"rsa", "ecdsa", "dsa"}) {  // hosts must not have the machine's own keys
    plan.emplace_back(Whiteout{fmt::format("{}/ssh/ssh_host_{}_key", etc, name)});
    plan.emplace_back(Whiteout{fmt::format("{}/ssh/ssh_host_{}_key.pub", etc, name)});
  }
  plan.emplace_back(Whiteout{common + "/root/.ssh"});
  // Hosts must look like machines, even if the lab runs in a container.
  plan.emplace_back(Whiteout{common + "/.dockerenv"});
  for (const char* name : {"/root/.bashrc", "/root/.profile"}) write(common + name, "");
  plan.emplace_back(WriteFile{.path = common + home + "/.bashrc", .owner = spec.uid});
  plan_programs(common, machine, plan);
}

void plan_hardware(const Spec& spec, const Machine& machine, int host,
                   std::vector<Operation>& plan) {
  const HardwareFiles& files = machine.hardware[static_cast<std::size_t>(host)];
  const std::string folder = host_folder(spec.name, host_name(host));
  plan.emplace_back(MakeFolder{.path = folder + "/hardware/work"});
  plan.emplace_back(MakeFolder{.path = folder + "/hardware/proc/driver"});
  for (const std::string& hidden : hidden_folders()) {
    plan.emplace_back(HideBelow{folder + "/hardware" + hidden});
  }
  plan.emplace_back(WriteTree{folder + "/hardware", "hardware of " + spec.like, files.mounted});
  plan.emplace_back(WriteTree{folder + "/upper", "tools of " + spec.like, files.on_disk});
}

// Mounts the profile's files over /sys, where the kernel's own files stay visible beside them, and
// over /proc/driver.
void plan_hardware_mounts(const std::string& folder, const std::string& root,
                          std::vector<Operation>& plan) {
  const std::string hardware = folder + "/hardware";
  plan.emplace_back(Mount{
      "overlay", "overlay", root + "/sys",
      fmt::format("lowerdir={}/sys,upperdir={}/sys,workdir={}/work", root, hardware, hardware)});
  plan.emplace_back(Mount{"bind", hardware + "/proc/driver", root + "/proc/driver"});
}

}  // namespace

std::string boot_id_path(const Spec& spec, int host) {
  return host_folder(spec.name, host_name(host)) + "/boot_id";
}

std::string boot_id(const std::string& digits) {
  return fmt::format("{}-{}-{}-{}-{}\n", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

namespace {

void plan_host(const Spec& spec, const Machine& machine, int host, std::vector<Operation>& plan) {
  const std::string name = host_name(host);
  const std::string folder = host_folder(spec.name, name);
  const std::string etc = folder + "/upper/etc";
  plan.emplace_back(MakeFolder{.path = folder + "/root"});
  plan.emplace_back(MakeFolder{.path = folder + "/work"});
  plan.emplace_back(MakeFolder{.path = etc + "/ssh"});
  plan.emplace_back(MakeFolder{.path = folder + "/upper"});
  plan.emplace_back(WriteFile{.path = etc + "/hostname", .content = name + "\n"});
  const std::string& id = machine.machine_ids[static_cast<std::size_t>(host)];
  plan.emplace_back(WriteFile{.path = etc + "/machine-id", .content = id + "\n"});
  plan.emplace_back(WriteFile{.path = boot_id_path(spec, host), .content = boot_id(id)});
  if (!spec.like.empty() && host != 0) plan_hardware(spec, machine, host, plan);
}

void plan_dev(const std::string& root, std::vector<Operation>& plan) {
  const std::string dev = root + "/dev";
  plan.emplace_back(Mount{"tmpfs", "tmpfs", dev, "mode=755"});
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    plan.emplace_back(WriteFile{.path = fmt::format("{}/{}", dev, name)});
    plan.emplace_back(Mount{"bind", fmt::format("/dev/{}", name), fmt::format("{}/{}", dev, name)});
  }
  plan.emplace_back(MakeFolder{.path = dev + "/pts"});
  plan.emplace_back(MakeFolder{.path = dev + "/shm"});
  plan.emplace_back(Mount{"devpts", "devpts", dev + "/pts", "newinstance,ptmxmode=0666,mode=620"});
  plan.emplace_back(Mount{"tmpfs", "tmpfs", dev + "/shm", "mode=1777"});
  plan.emplace_back(Link{dev + "/ptmx", "pts/ptmx"});
  plan.emplace_back(Link{dev + "/fd", "/proc/self/fd"});
  constexpr std::array kStreams = {"stdin", "stdout", "stderr"};
  for (std::size_t i = 0; i < kStreams.size(); ++i) {
    plan.emplace_back(
        Link{fmt::format("{}/{}", dev, kStreams[i]), fmt::format("/proc/self/fd/{}", i)});
  }
}

}  // namespace

uid_t free_uid(std::string_view passwd, std::string_view group) {
  const auto taken = [](std::string_view file, uid_t uid) {
    const std::string field = fmt::format(":{}:", uid);
    for (std::size_t start = 0; start < file.size();) {
      const std::size_t end = std::min(file.find('\n', start), file.size());
      const std::string_view line = file.substr(start, end - start);
      // Position before the third field.
      const std::size_t second = line.find(':', line.find(':') + 1);
      if (second != std::string_view::npos && line.substr(second).rfind(field, 0) == 0) return true;
      start = end + 1;
    }
    return false;
  };
  uid_t uid = 1000;
  while (taken(passwd, uid) || taken(group, uid)) ++uid;
  return uid;
}

std::vector<Operation> plan_files(const Spec& spec, const Machine& machine) {
  std::vector<Operation> plan;
  plan_common(spec, machine, plan);
  for (int host = 0; host <= spec.hosts; ++host) plan_host(spec, machine, host, plan);
  // The keys come one after the other in the plan, because only such steps run in parallel.
  for (int host = 0; host <= spec.hosts; ++host) {
    const std::string name = host_name(host);
    plan.emplace_back(MakeHostKey{
        host_folder(spec.name, name) + "/upper/etc/ssh/ssh_host_ed25519_key", "root@" + name});
  }
  return plan;
}

std::vector<Operation> plan_root(const Spec& spec, int host) {
  const std::string folder = host_folder(spec.name, host_name(host));
  const std::string root = folder + "/root";
  std::vector<Operation> plan;
  plan.emplace_back(Mount{"private", "none", "/"});
  plan.emplace_back(Mount{
      "overlay", "overlay", root,
      fmt::format("lowerdir={}:{},upperdir={}/upper,workdir={}/work",
                  host_folder(spec.name, "common"), host == 0 ? "/" : spec.root, folder, folder)});
  plan.emplace_back(Mount{"tmpfs", "tmpfs", root + "/run", "mode=755"});
  plan.emplace_back(MakeFolder{.path = root + "/run/sshd"});
  plan.emplace_back(MakeFolder{.path = root + "/run/lock", .mode = 01777});
  plan_dev(root, plan);
  plan.emplace_back(Mount{"proc", "proc", root + "/proc"});
  plan.emplace_back(Mount{"sysfs", "sysfs", root + "/sys"});
  if (!spec.like.empty() && host != 0) plan_hardware_mounts(folder, root, plan);
  plan.emplace_back(
      Mount{"bind", boot_id_path(spec, host), root + "/proc/sys/kernel/random/boot_id"});
  plan.emplace_back(Mount{"tmpfs", "tmpfs", root + "/tmp", "mode=1777"});
  for (const std::string& share : spec.shares) {
    plan.emplace_back(MakeMountPoint{root + share});
    plan.emplace_back(Mount{"bind", share, root + share});
  }
  if (host == 0) {
    for (const std::string& hidden : spec.launcher_lacks) {
      plan.emplace_back(Mount{"tmpfs", "tmpfs", root + hidden, "mode=755,size=4k"});
    }
  }
  return plan;
}

std::string plan_bridges(const Spec& spec) {
  std::string lines = "link set lo up\n";
  for (int nic = 0; nic < spec.nics; ++nic) {
    lines += fmt::format("link add {0} type bridge stp_state 0 mcast_snooping 0\nlink set {0} up\n",
                         bridge_name(nic));
  }
  for (const RailInterface& rail : rails_of(spec, 1)) {
    if (!rail.in_switch) continue;
    lines += fmt::format("link add {0} type bridge stp_state 0 mcast_snooping 0\nlink set {0} up\n",
                         rail_bridge_name(rail.number));
  }
  return lines;
}

std::string plan_rail_cable(const Cable& cable, const RailInterface& rail) {
  const std::string port = rail_port_name(cable.host, rail.number);
  std::string lines =
      fmt::format("link add {0} mtu {1} type veth peer name {2} mtu {1} address {3} netns {4}\n",
                  port, rail.mtu, rail.interface, rail.mac, cable.pid);
  if (!rail.in_switch) return lines;
  return lines + fmt::format("link set {} master {} up\n", port, rail_bridge_name(rail.number));
}

std::string plan_cables(const Spec& spec, std::span<const Cable> cables) {
  std::string lines;
  for (const Cable& cable : cables) {
    for (int nic = 0; nic < spec.nics; ++nic) {
      const std::string port = port_name(cable.host, nic);
      lines += fmt::format("link add {} type veth peer name {} address {} netns {}\n", port,
                           nic_name(spec, cable.host, nic), mac(cable.host, nic), cable.pid);
      lines += fmt::format("link set {} master {} up\n", port, bridge_name(nic));
    }
    for (const RailInterface& rail : rails_of(spec, cable.host)) {
      lines += plan_rail_cable(cable, rail);
    }
  }
  return lines;
}

}  // namespace muster::lab
