#include "checks/container_wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/quote.hpp"

namespace muster::checks {
namespace {

std::vector<std::string> folders_of(std::span<const std::string> hosts) {
  std::vector<std::string> folders;
  for (const std::string& host : hosts) {
    folders.push_back("workers/" + sys::quote(std::string_view(host)));
  }
  return folders;
}

// "run-worker.sh" has it as a variable of its own.
std::string script_setting(const std::string& flags) {
  constexpr std::string_view kShm = "--shm-size=";
  if (flags.starts_with(kShm)) return "SHM_SIZE=" + flags.substr(kShm.size());
  return "CONTAINER_FLAGS=" + sys::quote(std::string_view(flags));
}

}  // namespace

// Apptainer leaves limits, /dev/shm and the network as they are on the machine.
bool is_container(const facts::Facts& facts) {
  return !facts.container.engine.empty() && facts.container.engine != "apptainer";
}

std::string start_again_with(const facts::Facts& facts, const std::string& flags) {
  const std::string& engine = facts.container.engine;
  if (engine == "kubernetes") {
    return flags.starts_with("--shm-size")
               ? "mount an emptyDir with medium: Memory at /dev/shm in the pod"
               : fmt::format("let the pod's node or runtime class set what {} would set", flags);
  }
  const std::string command = engine == "containerd" ? "nerdctl" : engine;
  return fmt::format(
      "the host is a container: remove it, and start it again with {} run {}; with the scripts of "
      "muster setup --bundle:\n  {} ./run-worker.sh",
      command, flags, script_setting(flags));
}

std::string bundle_fix(const facts::Facts& launcher, const std::string& failure_id,
                       std::span<const std::string> hosts) {
  const std::string& owner = launcher.container.bundle_owner;
  if (owner.empty()) return {};
  const std::vector<std::string> folders = folders_of(hosts);
  if (failure_id == "ssh-publickey-denied") {
    return fmt::format(
        "its sshd refuses authorized_keys unless the container's user alone owns and writes it; in "
        "the bundle's directory on the machine of each container:\n  sudo chown -R {0} {1}\n  sudo "
        "chmod 700 {1}\n  sudo chmod 600 {2}/authorized_keys",
        owner, fmt::join(folders, " "), fmt::join(folders, "/authorized_keys "));
  }
  if (failure_id == "ssh-connect-refused-or-timeout") {
    return fmt::format(
        "start its container with run-worker.sh; if it runs, its sshd ended or uses another port: "
        "compare Port in {}/sshd_config with Port in ~/.ssh/config here, and read what its sshd "
        "says:\n  podman logs {}",
        folders.front(), sys::quote(std::string_view(hosts.front())));
  }
  if (failure_id == "ssh-host-key-changed" || failure_id == "ssh-host-key-unknown") {
    return fmt::format(
        "its sshd does not show the key that the bundle pinned: the container was started with "
        "files of another bundle; copy {} from this bundle to its machine and start it again",
        fmt::join(folders, ", "));
  }
  if (failure_id == "ssh-private-key-perms") {
    return fmt::format(
        "on the machine of this container, in the bundle's directory:\n  sudo chown -R {} "
        "launcher\n  sudo chmod 700 launcher\n  sudo chmod 600 launcher/id_ed25519 "
        "launcher/config",
        owner);
  }
  return {};
}

}  // namespace muster::checks
