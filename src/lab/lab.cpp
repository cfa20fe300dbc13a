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

#include "lab/lock.hpp"
#include "lab/node.hpp"
#include "lab/plan.hpp"
#include "lab/sweep.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kPasswordLetters =
    "abcdefghjkmnpqrstuvwxyz23456789";  // 31, no look-alikes
constexpr auto kUnmountDeadline = std::chrono::seconds(10);

std::string random_text(std::size_t size, std::string_view letters) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size;) {
    std::uint8_t byte = 0;
    if (::getrandom(&byte, 1, 0) != 1) continue;
    if (byte >= 256 / letters.size() * letters.size())
      continue;  // or the first letters are likelier
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

Result<Machine> look_at_machine(const Spec& spec) {
  Machine machine;
  MUSTER_TRY(machine.passwd, sys::read_file("/etc/passwd"));
  MUSTER_TRY(machine.group, sys::read_file("/etc/group"));
  MUSTER_TRY(machine.shadow, sys::read_file("/etc/shadow"));
  machine.muster = "/proc/self/exe";
  machine.password_hash = hash_password(spec.password);
  for (int host = 0; host <= spec.hosts; ++host) {
    machine.machine_ids.push_back(random_text(32, "0123456789abcdef"));
  }
  return machine;
}

// Completes the spec with what is chosen here, and looks at what the plan needs of the machine.
Result<Machine> prepare(Spec& spec) {
  if (spec.password.empty()) spec.password = random_text(12, kPasswordLetters);
  MUSTER_CHECK(validate(spec));
  for (const std::string& share : spec.shares) {
    if (!std::filesystem::is_directory(share)) {
      return unexpected(Error{.code = ErrorCode::kUsage,
                              .what = "the folder to share does not exist",
                              .where = {.file = share}});
    }
  }
  MUSTER_TRY(Machine machine, look_at_machine(spec));
  if (machine.passwd.find("\n" + spec.user + ":") != std::string::npos) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("this machine has a user '{}' already", spec.user),
                            .hint = "give the lab's user another name with --user"});
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
    if (errno == EINVAL || errno == ENOENT) return {};  // not mounted: `up` did not get that far
    if (errno != EBUSY || std::chrono::steady_clock::now() > deadline) {
      return unexpected(system_error("cannot unmount the lab's disk", folder));
    }
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
    return unexpected(system_error("cannot remove the lab's folder", lab_folder(lab)));
  }
  ::rmdir(std::filesystem::path(lab_folder(lab)).parent_path().c_str());  // other labs may be in it
  return {};
}

}  // namespace

Result<Spec> up(Spec spec) {
  MUSTER_TRY(const Machine machine, prepare(spec));
  MUSTER_TRY(const Lock lock, Lock::take(spec.name, Lock::kMake));
  if (sys::exists(disk(spec.name))) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("lab '{}' is there already", spec.name),
                            .hint = fmt::format("muster lab down --name {}", spec.name)});
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
  MUSTER_TRY(const Lock lock, Lock::take(lab, Lock::kExisting));
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
                            .hint = "muster lab up --hosts 4"});
  }
  return from_json(*text);
}

Result<Status> status(std::string_view lab) {
  MUSTER_TRY(Spec spec, load(lab));
  std::string ports;
  if (const auto pid = node_pid(lab, kSwitch)) {
    const auto shown = sys::run(
        {.argv = {"nsenter", fmt::format("--net=/proc/{}/ns/net", *pid), "ip", "-o", "link"}});
    if (shown) ports = shown->out;
  }
  // "5: p1@if2: <...> ... master br0 ..."
  const auto port_is = [&](const std::string& name, std::string_view what) {
    const std::size_t at = ports.find(fmt::format(" {}@", name));
    if (at == std::string::npos) return false;
    return std::string_view(ports).substr(at, ports.find('\n', at) - at).find(what) !=
           std::string_view::npos;
  };
  Status result{.spec = spec, .hosts = {}};
  for (int host = 0; host <= spec.hosts; ++host) {
    HostStatus entry{.name = host_name(host)};
    entry.up = node_pid(lab, entry.name).has_value();
    for (int nic = 0; nic < spec.nics; ++nic) {
      entry.addresses.push_back(address(host, nic));
      entry.interfaces.push_back(nic_name(spec, host, nic));
    }
    const std::string wire = wire_outer_name(host, 0);
    entry.shaped = port_is(wire, "");
    entry.connected = port_is(entry.shaped ? wire : port_name(host, 0), " master ");
    result.hosts.push_back(std::move(entry));
  }
  return result;
}

}  // namespace muster::lab
