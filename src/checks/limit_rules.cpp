// Limits of the system: shared memory, open files, locked memory.
#include <algorithm>

#include <fmt/format.h>

#include "checks/container_wording.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// How much of /dev/shm a rank needs. NCCL takes 10 to 33 MB for each pair of ranks on a host, an
// MPI up to 16 MB, and DataLoader workers pass their batches through it. The 64 MB that a container
// has by default are not enough.
constexpr std::int64_t kShmOfRank = 64 * kMiB;
// The first queue pairs and buffers of a rank need this much locked memory.
constexpr std::int64_t kLeastLocked = 64 * kMiB;

// The fix for a low limit of locked memory in a pod, whose specification has no field for it.
constexpr const char* kPodMemlockFix =
    "run the container as root with the capability IPC_LOCK (securityContext.capabilities.add; "
    "muster emit k8s --rdma writes it), or start the nodes' container runtime without a limit: "
    "LimitMEMLOCK=infinity in the unit of containerd or crio";

// How many files a rank opens in a job of this size, by the formula in the failure catalogue for
// one process group.
std::int64_t files_needed(int ranks) {
  return 4 * std::int64_t{ranks} + 256;
}

bool is_below(std::int64_t limit, std::int64_t needed) {
  return limit >= 0 && limit < needed;
}

// Whether the limit is known. 0 means unknown, because no host has a limit of 0 open files.
bool is_known(const facts::Limit& limit) {
  return limit.soft != 0 || limit.hard != 0;
}

std::string limit_text(std::int64_t limit) {
  return limit < 0 ? "unlimited" : std::to_string(limit);
}

std::string shm_fix(const facts::Facts& facts, std::int64_t needed, bool in_pod) {
  const std::int64_t size = std::max<std::int64_t>(1, (2 * needed + kGiB - 1) / kGiB);
  if (in_pod) {
    return fmt::format(
        "mount an emptyDir with the medium Memory at /dev/shm; muster emit k8s --shm {}Gi writes "
        "it",
        size);
  }
  if (is_container(facts)) return start_again_with(facts, fmt::format("--shm-size={}g", size));
  return fmt::format(
      "in a container, start it with docker run --shm-size={}g or --ipc=host; on a host, run:\n{}",
      size, command_on_hosts(fmt::format("sudo mount -o remount,size={}G /dev/shm", size)));
}

// PAM applies limits.d only at logins, so the limit of a container must be set by the container
// engine.
Finding raised_in_container(std::string_view id, const Participant& host, const std::string& name,
                            const std::string& value) {
  const std::string number = value == "unlimited" ? "-1" : value;
  return {.id = std::string(id),
          .hosts = {host.name()},
          .fix = start_again_with(*host.facts, fmt::format("--ulimit {0}={1}:{1}", name, number))};
}

Finding raised_limit(std::string_view id, const Participant& host, const std::string& name,
                     const std::string& value) {
  if (is_container(*host.facts)) return raised_in_container(id, host, name, value);
  return {
      .id = std::string(id),
      .hosts = {host.name()},
      // -O stop lets a running job keep the connection; -O exit would close it.
      .fix = fmt::format("{}\nthe new limit applies to new logins; muster's open connection to a "
                         "host keeps the old limit until you close it, with one command per "
                         "host:\n  ssh -o ControlPath=~/.ssh/muster/cm/%C -O stop HOST",
                         command_on_hosts(fmt::format(
                             "echo '* - {} {}' | sudo tee /etc/security/limits.d/muster-{}.conf",
                             name, value, name)))};
}

}  // namespace

Findings find_shm(const Scene& scene) {
  Findings findings;
  for (const Participant& host : participants(scene)) {
    if (!was_seen(*host.facts, "shm")) continue;
    const int ranks = host.placement->ranks;
    const std::int64_t needed = kShmOfRank * ranks;
    const std::int64_t size = host.facts->shm_bytes;
    const std::int64_t free = host.facts->shm_free_bytes;
    const std::string rule =
        fmt::format("{} on the host, {} each",
                    ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks), bytes_text(kShmOfRank));
    Finding finding{.id = std::string(kShmSmall),
                    .hosts = {host.name()},
                    .fix = shm_fix(*host.facts, needed, scene.job.pods > 0)};
    if (size < 0) {
      finding.what = "there is no /dev/shm";
    } else if (size <= needed) {
      finding.what = "/dev/shm is too small for the host's ranks";
      finding.evidence = fmt::format("it has {}; the ranks need more than {} ({})",
                                     bytes_text(size), bytes_text(needed), rule);
    } else if (free >= 0 && free < needed) {
      finding.what = "/dev/shm is too full for the host's ranks";
      finding.evidence = fmt::format("{} of {} are free; the ranks need {} ({})", bytes_text(free),
                                     bytes_text(size), bytes_text(needed), rule);
      finding.fix = "remove files that killed runs left in /dev/shm; to list them:\n" +
                    command_on_hosts("ls -l /dev/shm");
    } else {
      continue;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings find_nofile(const Scene& scene) {
  const std::int64_t needed = files_needed(scene.layout.ranks);
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const facts::Limit& limit = host.facts->limits.nofile;
    if (!is_known(limit) || !is_below(limit.soft, needed)) continue;
    const bool may_raise = !is_below(limit.hard, needed);
    Finding finding = raised_limit(kNofile, host, "nofile", "65536");
    finding.severity = may_raise ? Severity::kWarning : Severity::kError;
    finding.what =
        fmt::format("a process may open {} files, but in a job of {} ranks each rank needs {}",
                    limit.soft, scene.layout.ranks, needed);
    finding.evidence = fmt::format("ulimit -n is {}; its hard limit is {}", limit_text(limit.soft),
                                   limit_text(limit.hard));
    if (may_raise)
      finding.fix = fmt::format(
          "start your program from a script that runs 'ulimit -n {}' first, or raise the limit "
          "permanently:\n{}",
          std::max<std::int64_t>(needed, 4096), finding.fix);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings find_memlock(const Scene& scene) {
  Findings findings;
  if (scene.layout.placements.size() < 2 && scene.job.pods < 2) return findings;
  // If NCCL does not use RDMA, a low limit is only a warning, because MPI may still use RDMA.
  const auto no_rdma = scene.job.env_values.find("NCCL_IB_DISABLE");
  const bool nccl_uses_it = no_rdma == scene.job.env_values.end() || no_rdma->second != "1";
  for (const Participant& host : participants(scene)) {
    const facts::Limit& limit = host.facts->limits.memlock;
    if (host.placement->rails.empty() || !is_known(limit) || limit.soft < 0) continue;
    const facts::Container& container = host.facts->container;
    const bool contained = is_container(*host.facts);
    if (contained && !container.opens_rdma.value_or(true)) continue;  // see find_hidden_rdma
    Finding finding = raised_limit(kMemlock, host, "memlock", "unlimited");
    const bool fails = nccl_uses_it && limit.soft < kLeastLocked;
    finding.severity = fails ? Severity::kError : Severity::kWarning;
    finding.what = "RDMA needs locked memory, but the limit for a rank is too low";
    finding.evidence =
        fmt::format("ulimit -l is {}; it should be unlimited", bytes_text(limit.soft));
    const bool may_not_lock = std::find(container.lacks.begin(), container.lacks.end(),
                                        "IPC_LOCK") != container.lacks.end();
    if (scene.job.pods > 0) {
      finding.fix = kPodMemlockFix;
    } else if (contained && may_not_lock) {
      finding.evidence += "; the container lacks the capability IPC_LOCK";
      finding.fix = start_again_with(*host.facts, "--ulimit memlock=-1:-1 --cap-add=IPC_LOCK");
    } else if (!contained) {
      finding.fix =
          "in a container, start it with docker run --ulimit memlock=-1 --cap-add IPC_LOCK; on a "
          "host, run:\n" +
          finding.fix;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace muster::checks
