#include "checks/container_wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/quote.hpp"

namespace muster::checks {
namespace {

std::vector<std::string> folders_of(std::span<const std::string> hosts) {
  std::vector<std::string> folders;
  for (const std::string& host : hosts) folders.push_back(worker_folder(host));
  return folders;
}

// Returns the setting of "run-worker.sh" that has the effect of these flags, such as "SHM_SIZE=8g".
std::string script_setting(const std::string& flags) {
  constexpr std::string_view kShm = "--shm-size=";
  if (flags.starts_with(kShm)) return "SHM_SIZE=" + flags.substr(kShm.size());
  if (flags.starts_with("--device=/dev/infiniband")) return "DEVICES=all";
  return "CONTAINER_FLAGS=" + sys::quote(std::string_view(flags));
}

std::string command_of(const std::string& engine) {
  return engine == "containerd" ? "nerdctl" : engine;
}

// Returns the command that shows the worker's log, assuming that the workers use the same container
// engine as the launcher. Empty if the launcher is not in a container or is in a pod.
std::string logs_command(const facts::Facts& launcher, const std::string& worker) {
  if (!is_container(launcher) || launcher.container.engine == "kubernetes") return {};
  return fmt::format(" on its machine:\n  {} logs {}", command_of(launcher.container.engine),
                     sys::quote(std::string_view(worker)));
}

}  // namespace

// Apptainer does not count, because it keeps the machine's limits, /dev/shm and network.
bool is_container(const facts::Facts& facts) {
  return !facts.container.engine.empty() && facts.container.engine != "apptainer";
}

std::string worker_folder(const std::string& host) {
  return "workers/" + sys::quote(std::string_view(host));
}

std::string start_again_with(const facts::Facts& facts, const std::string& flags) {
  const std::string& engine = facts.container.engine;
  if (engine == "kubernetes") {
    return flags.starts_with("--shm-size")
               ? "mount an emptyDir with medium: Memory at /dev/shm in the pod"
               : fmt::format("let the pod's node or runtime class set what {} would set", flags);
  }
  return fmt::format(
      "the host is a container: remove it, and start it again with {} run {}; with the scripts of "
      "muster setup --bundle, and its name as NAME:\n  {} ./run-worker.sh NAME",
      command_of(engine), flags, script_setting(flags));
}

std::string rdma_fix(const facts::Facts& facts) {
  if (facts.container.engine == "kubernetes") {
    return "request the RDMA resource of the nodes' device plugin for the pod; muster emit k8s "
           "--rdma writes it";
  }
  return start_again_with(facts,
                          "--device=/dev/infiniband --ulimit memlock=-1:-1 --cap-add=IPC_LOCK") +
         "\nif its machine has no /dev/infiniband either, load the kernel module ib_uverbs there "
         "first";
}

std::string owner_fix(const facts::Facts& facts, const facts::FileMode& file,
                      const std::string& bundle_owner, const std::string& folder) {
  const std::string problem = fmt::format(
      "{} belongs to user {}, but must belong to user {} of the container; on the "
      "machine of the container, ",
      file.path, file.uid, facts.uid);
  if (bundle_owner.empty()) {
    return fmt::format(
        "{}make user {} the owner of the directory that is mounted as ~/.ssh and of all files in "
        "it",
        problem, facts.uid);
  }
  return fmt::format("{}in the bundle's directory:\n  sudo chown -R {} {}", problem, bundle_owner,
                     folder);
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
        "compare Port in {}/sshd_config with Port in ~/.ssh/config here, and read the log of the "
        "container{}",
        folders.front(), logs_command(launcher, hosts.front()));
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
