#include "lab/lab.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <thread>

#include <crypt.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <unistd.h>

#include "lab/hardware_host.hpp"
#include "lab/lock.hpp"
#include "lab/node.hpp"
#include "lab/plan.hpp"
#include "lab/sweep.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"
#include "sys/process.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kPasswordLetters =
    "abcdefghjkmnpqrstuvwxyz23456789";  // 31 characters that are not easily confused
constexpr auto kUnmountDeadline = std::chrono::seconds(2);

std::string random_text(std::size_t size, std::string_view letters) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size;) {
    std::uint8_t byte = 0;
    if (::getrandom(&byte, 1, 0) != 1) continue;
    if (byte >= 256 / letters.size() * letters.size())
      continue;  // otherwise the first characters would be more frequent
    text[i++] = letters[byte % letters.size()];
  }
  return text;
}

std::string hash_password(const std::string& password) {
  crypt_data data{};
  const std::string salt = "$6$" + random_text(16, "abcdefghijklmnopqrstuvwxyz0123456789");
  const char* hash = ::crypt_r(password.c_str(), salt.c_str(), &data);
  return hash == nullptr ? "!" : hash;
}

void add_files(const std::filesystem::path& from, const std::string& to, const std::string& prefix,
               std::vector<Copied>& files) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(from, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || !entry.is_regular_file(ignored)) continue;
    files.push_back({entry.path().string(), fmt::format("{}/{}", to, name)});
  }
}

// Returns the programs next to this binary and their libraries, for hosts that cannot see them at
// their own path. They go below /usr/local, to the same relative places.
std::vector<Copied> programs_beside_muster() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto prefix = self.parent_path().parent_path();
  std::vector<Copied> files;
  if (failed || prefix == "/usr" || prefix == "/usr/local") return files;
  add_files(self.parent_path(), "/usr/local/bin", "muster-", files);
  if (files.empty()) return files;
  for (const char* lib : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    const std::string to = fmt::format("/usr/local/{}", lib);
    add_files(prefix / lib, to, "libmuster.so", files);
    add_files(prefix / lib / "muster", to + "/muster", "lib", files);
  }
  return files;
}

Result<Machine> look_at_machine(const Spec& spec) {
  Machine machine;
  MUSTER_TRY(machine.passwd, sys::read_file("/etc/passwd"));
  MUSTER_TRY(machine.group, sys::read_file("/etc/group"));
  MUSTER_TRY(machine.shadow, sys::read_file("/etc/shadow"));
  machine.muster = "/proc/self/exe";
  machine.programs = programs_beside_muster();
  machine.password_hash = hash_password(spec.password);
  for (int host = 0; host <= spec.hosts; ++host) {
    machine.machine_ids.push_back(random_text(32, "0123456789abcdef"));
    if (!spec.like.empty()) machine.hardware.push_back(healthy_files(spec, host));
  }
  return machine;
}

// Checks, before anything is created, that all programs that the lab starts exist.
Result<void> check_programs() {
  for (const char* name :
       {"tini-static", "nsenter", "ip", "tc", "ethtool", "ssh-keygen", "/usr/sbin/sshd"}) {
    if (sys::find_program(name)) continue;
    return unexpected(Error{.code = ErrorCode::kEngineMissing,
                            .what = fmt::format("the lab needs '{}', which is not installed", name),
                            .hint = "on Debian: apt-get install tini util-linux iproute2 ethtool "
                                    "openssh-client openssh-server"});
  }
  return {};
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.rfind(folder + "/", 0) == 0;
}

// Resolves links, because a mount on a link would be made at the link's target on this machine.
// Rejects a share inside another one, because creating its mount point would change the real folder
// of the outer share.
Result<void> settle_shares(std::vector<std::string>& shares) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    std::error_code bad;
    const std::string real = std::filesystem::canonical(shares[i], bad);
    if (bad || !std::filesystem::is_directory(real)) {
      return unexpected(Error{.code = ErrorCode::kUsage,
                              .what = "the directory of --share does not exist",
                              .where = {.file = shares[i]}});
    }
    shares[i] = real;
    for (std::size_t other = 0; other < i; ++other) {
      if (!is_below(real, shares[other]) && !is_below(shares[other], real)) continue;
      return unexpected(
          Error{.code = ErrorCode::kUsage,
                .what = fmt::format("shared directories overlap: {} and {}", shares[other], real)});
    }
  }
  return {};
}

Result<void> settle_root(std::string& root) {
  if (root == "/") return {};
  std::error_code bad;
  const std::string real = std::filesystem::canonical(root, bad);
  if (bad || !sys::exists(real + "/usr/sbin/sshd")) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "this directory is not a root file system with /usr/sbin/sshd",
              .where = {.file = root},
              .hint = "make one: mmdebstrap --variant=minbase --include=openssh-server,python3 "
                      "bookworm " +
                      root});
  }
  root = real;
  return {};
}

Result<void> settle_hidden(std::vector<std::string>& folders) {
  for (std::string& folder : folders) {
    std::error_code bad;
    const std::string real = std::filesystem::canonical(folder, bad);
    if (bad || !std::filesystem::is_directory(real)) {
      return unexpected(Error{.code = ErrorCode::kUsage,
                              .what = "the directory of --launcher-lacks does not exist",
                              .where = {.file = folder}});
    }
    folder = real;
  }
  return {};
}

// The first interface of each host has the same name as on the profile's machine, unless
// --nic-names sets another one.
Result<void> settle_profile(Spec& spec) {
  if (spec.like.empty()) return {};
  MUSTER_TRY(const Hardware hardware, load_profile(spec.like));
  if (spec.nic_names == Spec{}.nic_names) spec.nic_names = {hardware.management};
  return {};
}

// Fills in missing values of the spec, and reads what the plan needs to know about the machine.
Result<Machine> prepare(Spec& spec) {
  if (spec.password.empty()) spec.password = random_text(12, kPasswordLetters);
  MUSTER_CHECK(settle_root(spec.root));
  MUSTER_CHECK(settle_profile(spec));
  MUSTER_CHECK(validate(spec));
  MUSTER_CHECK(check_programs());
  MUSTER_CHECK(settle_shares(spec.shares));
  MUSTER_CHECK(settle_hidden(spec.launcher_lacks));
  MUSTER_TRY(Machine machine, look_at_machine(spec));
  if (machine.passwd.find("\n" + spec.user + ":") != std::string::npos) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("this machine already has a user '{}'", spec.user),
                            .hint = "choose another name for the lab's user with --user"});
  }
  spec.uid = free_uid(machine.passwd, machine.group);
  return machine;
}

Result<void> build(const Spec& spec, const Machine& machine) {
  const std::string folder = disk(spec.name);
  MUSTER_CHECK(sys::make_folders(folder, 0755));
  if (::mount("muster-lab", folder.c_str(), "tmpfs", 0, "mode=755") != 0 ||
      ::mount("none", folder.c_str(), nullptr, MS_PRIVATE, nullptr) != 0) {
    return unexpected(system_error("cannot mount the lab's disk", folder));
  }
  MUSTER_CHECK(sys::write_file(folder + "/spec.json", to_json(spec), 0600));
  MUSTER_CHECK(replay(plan_files(spec, machine), mark(spec.name)));
  MUSTER_CHECK(start_switch(spec));
  std::vector<int> all;
  for (int host = 0; host <= spec.hosts; ++host) all.push_back(host);
  return start_hosts(spec, all);
}

Result<void> unmount(const std::string& folder) {
  const auto deadline = std::chrono::steady_clock::now() + kUnmountDeadline;
  while (::umount2(folder.c_str(), UMOUNT_NOFOLLOW) != 0) {
    if (errno == EINVAL || errno == ENOENT) return {};  // not mounted, because `up` was interrupted
    if (errno == EBUSY && std::chrono::steady_clock::now() > deadline) {
      // A process outside the lab is using it. The lab's own processes have ended. Detaching
      // removes the disk when the outside process leaves.
      ::umount2(folder.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
      return {};
    }
    if (errno != EBUSY) return unexpected(system_error("cannot unmount the lab's disk", folder));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

Result<void> remove(std::string_view lab) {
  MUSTER_CHECK(sweep(mark(lab)));
  MUSTER_CHECK(unmount(disk(lab)));
  std::error_code ignored;
  std::filesystem::remove(disk(lab), ignored);
  if (!std::filesystem::remove(lab_folder(lab), ignored) && sys::exists(lab_folder(lab))) {
    return unexpected(system_error("cannot remove the lab's directory", lab_folder(lab)));
  }
  // Fails, as it should, while the folder contains other labs.
  ::rmdir(std::filesystem::path(lab_folder(lab)).parent_path().c_str());
  return {};
}

}  // namespace

Result<Spec> up(Spec spec) {
  MUSTER_TRY(const Machine machine, prepare(spec));
  MUSTER_TRY(const Lock lock, Lock::take(spec.name, Lock::kMake));
  if (sys::exists(disk(spec.name))) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("lab '{}' already exists", spec.name),
              .hint = fmt::format("to remove the lab: muster lab down --name {}", spec.name)});
  }
  if (auto built = build(spec, machine); !built) {
    Error error = std::move(built).error();
    if (auto removed = remove(spec.name); !removed) {
      error.hint = "muster lab down: " + to_text(removed.error());
    }
    return unexpected(std::move(error));
  }
  return spec;
}

Result<std::vector<std::string>> dry_run(Spec spec) {
  MUSTER_TRY(const Machine machine, prepare(spec));
  std::vector<std::string> lines;
  lines.push_back(to_text(Mount{"tmpfs", "muster-lab", disk(spec.name), "mode=755"}));
  for (const Operation& step : plan_files(spec, machine)) lines.push_back(to_text(step));
  lines.emplace_back("in the switch's network namespace, ip -batch:");
  std::istringstream bridges(plan_bridges(spec));
  for (std::string line; std::getline(bridges, line);) lines.push_back("  " + line);
  for (int host = 0; host <= spec.hosts; ++host) {
    lines.push_back(fmt::format("in the namespaces of {}:", host_name(host)));
    for (const Operation& step : plan_root(spec, host)) lines.push_back("  " + to_text(step));
  }
  return lines;
}

Result<bool> down(std::string_view lab) {
  MUSTER_CHECK(validate(Spec{.name = std::string(lab), .hosts = 1}));
  if (!sys::exists(lab_folder(lab))) return false;
  const auto lock = Lock::take(lab, Lock::kExisting);
  if (!lock && !sys::exists(lab_folder(lab))) return false;  // another `down` was faster
  if (!lock) return unexpected(lock.error());
  MUSTER_CHECK(remove(lab));
  return true;
}

std::vector<std::string> labs() {
  std::vector<std::string> names;
  std::error_code none;
  const auto parent = std::filesystem::path(lab_folder("x")).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(parent, none)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

Result<Spec> load(std::string_view lab) {
  MUSTER_CHECK(validate(Spec{.name = std::string(lab), .hosts = 1}));
  const auto text = sys::read_file(disk(lab) + "/spec.json");
  if (!text) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("there is no lab '{}'", lab),
                            .hint = "to create a lab: muster lab up --nodes 4"});
  }
  return from_json(*text);
}

Result<Status> status(std::string_view lab) {
  MUSTER_TRY(Spec spec, load(lab));
  std::string ports;
  if (const auto pid = node_pid(lab, kSwitch)) {
    const auto shown = sys::run({.argv = in_network_of(*pid, {"ip", "-o", "link"})});
    if (shown) ports = shown->out;
  }
  // A line is "5: p1@if2: <...> ... master br0 ...".
  const auto port_is = [&](const std::string& name, std::string_view what) {
    const std::size_t at = ports.find(fmt::format(" {}@", name));
    if (at == std::string::npos) return false;
    return std::string_view(ports).substr(at, ports.find('\n', at) - at).find(what) !=
           std::string_view::npos;
  };
  Status result{.spec = spec, .hosts = {}};
  for (int host = 0; host <= spec.hosts; ++host) {
    HostStatus entry{.name = host_name(host), .connected = true};
    entry.up = node_pid(lab, entry.name).has_value();
    for (int nic = 0; nic < spec.nics; ++nic) {
      for (const HostAddress& one : addresses(spec, host, nic)) {
        entry.addresses.push_back(one.ip);
        entry.interfaces.push_back(nic_name(spec, host, nic));
      }
      const std::string port = port_name(host, nic);
      const std::string wire = wire_outer_name(host, nic);
      const bool wired = port_is(wire, "");
      entry.shaped = entry.shaped || wired || port_is(port, " qdisc tbf ");
      entry.connected = entry.connected && port_is(wired ? wire : port, " master ");
    }
    for (const RailInterface& rail : rails_of(spec, host)) {
      if (rail.address.empty()) continue;
      entry.addresses.push_back(rail.address);
      entry.interfaces.push_back(rail.interface);
    }
    result.hosts.push_back(std::move(entry));
  }
  return result;
}

}  // namespace muster::lab
