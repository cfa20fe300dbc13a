#include <fmt/format.h>

#include "setup/bundle.hpp"
#include "sys/quote.hpp"

namespace muster::setup {
namespace {

constexpr std::string_view kTop =
    "set -eu\n"
    "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
    "if [ -z \"${IMAGE:-}\" ]; then IMAGE=@IMAGE@; fi\n"
    "if [ -z \"${WORKLOAD:-}\" ]; then WORKLOAD=@WORKLOAD@; fi\n"
    "if [ -z \"${COMMAND:-}\" ]; then COMMAND=@COMMAND@; fi\n"
    "if [ -z \"$IMAGE\" ]; then echo \"$0: set IMAGE to the container image\" >&2; exit 2; fi\n"
    "\n";

// Variables that name an interface or a transport are handed on if they are set.
constexpr std::string_view kContainer =
    "set -- --rm --init --network=host --shm-size \"${SHM_SIZE:-8g}\" --user @OWNER@ \\\n"
    "  -v \"$here/@ROLE@:@HOME@/.ssh\" -e HOME=@HOME@ \\\n"
    "  -e I_MPI_HYDRA_IFACE -e FI_TCP_IFACE -e FI_SOCKETS_IFACE -e UCX_TLS \\\n"
    "  -e GLOO_SOCKET_IFNAME -e NCCL_SOCKET_IFNAME\n"
    "if [ -n \"$WORKLOAD\" ]; then set -- \"$@\" -v \"$WORKLOAD:/workload\" -w /workload; fi\n"
    "# What this machine has: NVIDIA's GPUs, InfiniBand or RoCE cards, other GPUs and their "
    "groups.\n"
    "if [ -e /dev/nvidiactl ]; then set -- \"$@\" --gpus all; fi\n"
    "if [ -e /dev/infiniband ]; then\n"
    "  set -- \"$@\" --device /dev/infiniband --ulimit memlock=-1\n"
    "fi\n"
    "if [ -e /dev/dri ]; then\n"
    "  set -- \"$@\" --device /dev/dri\n"
    "  if [ -e /dev/dri/by-path ]; then set -- \"$@\" -v /dev/dri/by-path:/dev/dri/by-path; fi\n"
    "  for group in render video; do\n"
    "    id=$(getent group \"$group\" | cut -d: -f3) || id=\n"
    "    if [ -n \"$id\" ]; then set -- \"$@\" --group-add \"$id\"; fi\n"
    "  done\n"
    "fi\n";

constexpr std::string_view kRun =
    "exec \"${ENGINE:-docker}\" run \"$@\" \"$IMAGE\" sh -c \"$COMMAND\"\n";

std::string filled(std::string text, std::string_view mark, std::string_view value) {
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

std::string script(const BundleOptions& options, std::string_view about, std::string_view role,
                   std::string_view command, std::string_view extra) {
  std::string text = fmt::format("#!/bin/sh\n{}", about);
  // Values are filled in first where the marks stand in our own text only.
  text += filled(filled(filled(std::string(kTop), "@IMAGE@", sys::quote(options.image)),
                        "@WORKLOAD@", sys::quote(options.workload)),
                 "@COMMAND@", sys::quote(command));
  std::string container = filled(std::string(kContainer), "@ROLE@", role);
  container = filled(std::move(container), "@HOME@", options.home);
  text += filled(std::move(container), "@OWNER@",
                 fmt::format("{}:{}", options.owner.user, options.owner.group));
  return text + std::string(extra) + std::string(kRun);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

std::string worker_script(const BundleOptions& options) {
  const std::string about = fmt::format(
      "# Starts a worker's container on this machine: an sshd on port {} that lets the launcher "
      "in.\n"
      "# Ends with the container (Ctrl-C). For one run other values can be set, for example:\n"
      "#   IMAGE=... WORKLOAD=/data ENGINE=podman ./run-worker.sh\n",
      options.port);
  return script(options, about, "worker",
                fmt::format("exec /usr/sbin/sshd -D -e -f {}/.ssh/sshd_config", options.home),
                "set -- \"$@\" --name muster-worker\n");
}

std::string launcher_script(const BundleOptions& options) {
  const std::string about =
      "# Starts the launcher's container on this machine and runs COMMAND in it; without one it\n"
      "# asks every machine for its name. For example:\n"
      "#   COMMAND='mpirun -ppn 1 -hosts " +
      joined(options.hosts) + " python train.py' ./run-launcher.sh\n";
  const std::string extra = fmt::format(
      "set -- \"$@\" --name muster-launcher \\\n"
      "  -e \"MASTER_ADDR=${{MASTER_ADDR:-{}}}\" -e \"MASTER_PORT=${{MASTER_PORT:-29500}}\"\n"
      "if [ -t 0 ] && [ -t 1 ]; then set -- \"$@\" -it; fi\n",
      options.hosts.front());
  return script(options, about, "launcher",
                fmt::format("mpirun -l -ppn 1 -hosts {} hostname", joined(options.hosts)), extra);
}

}  // namespace muster::setup
