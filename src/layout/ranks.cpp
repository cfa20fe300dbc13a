#include "layout/ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "layout/gpus.hpp"

namespace muster::layout {
namespace {

unexpected<Error> refused(std::string what, std::string hint) {
  return unexpected(
      Error{.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)});
}

Result<void> check_signs(const Job& job) {
  if (job.ranks_per_host < 0 || job.ranks < 0 || job.nodes < 0) {
    return refused(fmt::format("a number is negative: {} ranks per host, {} ranks, {} hosts",
                               job.ranks_per_host, job.ranks, job.nodes),
                   "leave the flag out to let muster choose");
  }
  return {};
}

// The hosts that the user wants to use.
Result<std::span<const hosts::Host>> chosen(const Job& job, const hosts::Cluster& cluster) {
  const std::span<const hosts::Host> all = cluster.hosts;
  if (all.empty()) return refused("there is no host to run on", "name hosts with -H or --hostfile");
  const auto wanted = static_cast<std::size_t>(job.nodes);
  if (wanted > all.size()) {
    return refused(
        fmt::format("you asked for {} hosts, but the list has {}", job.nodes, all.size()),
        fmt::format("pass --nnodes {}, or name more hosts", all.size()));
  }
  return all.first(wanted == 0 ? all.size() : wanted);
}

using FactsByHost = std::unordered_map<std::string_view, const facts::Facts*>;

// Returns the number of ranks on a host with one rank per GPU or CPU, which the user asked for
// instead of slots. A host without Facts gets one.
Result<int> count_on(const Job& job, const hosts::Host& host, const FactsByHost& known) {
  const auto found = known.find(host.name);
  if (found == known.end()) return 1;
  const int gpus = gpus_for_ranks(job, *found->second);
  if (job.ranks_by == "gpu" && gpus == 0) {
    return refused(
        fmt::format("you asked for one rank per GPU, but {} {}", host.name,
                    found->second->gpus.empty() ? "has no GPU" : "has no GPU that ranks can use"),
        "pass --nproc-per-node auto, which uses the CPUs of a host without GPUs, or pass a number");
  }
  return job.ranks_by == "cpu" || gpus == 0 ? std::max(found->second->cpu.usable, 1) : gpus;
}

Result<int> room_on(const Job& job, const hosts::Host& host, const FactsByHost& known) {
  if (!job.ranks_by.empty()) return count_on(job, host, known);
  if (job.ranks_per_host == 0) return std::max(host.slots, 1);
  if (host.slots > 0 && job.ranks_per_host > host.slots && !job.oversubscribe) {
    return refused(fmt::format("you asked for {} ranks per host, but {} has {} slots",
                               job.ranks_per_host, host.name, host.slots),
                   fmt::format("pass --nproc-per-node {}, or give the host more slots: {}:{}",
                               host.slots, host.name, job.ranks_per_host));
  }
  return job.ranks_per_host;
}

// Whether the user said how many ranks a host takes.
bool says_room(const Job& job, std::span<const hosts::Host> hosts) {
  return !job.ranks_by.empty() || job.ranks_per_host > 0 ||
         std::any_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.slots > 0; });
}

// Enlarges the rooms of the hosts evenly until all ranks fit. Returns the total room.
std::int64_t widen(std::vector<std::int64_t>& rooms, std::int64_t ranks) {
  const auto hosts = static_cast<std::int64_t>(rooms.size());
  std::int64_t lacking = ranks;
  for (const std::int64_t room : rooms) lacking -= room;
  for (std::int64_t i = 0; i < hosts; ++i) {
    rooms[static_cast<std::size_t>(i)] += lacking / hosts + (i < lacking % hosts ? 1 : 0);
  }
  return ranks;
}

Error too_many_ranks(const Job& job, std::int64_t room, std::size_t hosts) {
  const std::int64_t each =
      (job.ranks + static_cast<std::int64_t>(hosts) - 1) / static_cast<std::int64_t>(hosts);
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("you asked for {} ranks, but the {} hosts have room for {}",
                              job.ranks, hosts, room),
          .hint = fmt::format("allow more ranks per host (--nproc-per-node {}, or HOST:{} in the "
                              "host list), ask for {} ranks, or pass --oversubscribe",
                              each, each, room)};
}

Error idle_hosts(const Job& job, std::size_t used) {
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("you asked for {} hosts, but {} ranks fill only {} of them",
                              job.nodes, job.ranks, used),
          .hint = fmt::format("pass --nnodes {}, ask for more ranks, or put fewer ranks on each "
                              "host (--nproc-per-node)",
                              used)};
}

}  // namespace

Result<std::vector<Placement>> place_ranks(const Job& job, const hosts::Cluster& cluster,
                                           std::span<const facts::Survey> surveys) {
  MUSTER_CHECK(check_signs(job));
  MUSTER_TRY(const auto hosts, chosen(job, cluster));
  FactsByHost known;
  for (const facts::Survey& survey : surveys) {
    if (survey.facts) known.emplace(survey.host, &*survey.facts);
  }
  std::vector<std::int64_t> rooms;
  std::int64_t room = 0;
  for (const hosts::Host& host : hosts) {
    MUSTER_TRY(const int most, room_on(job, host, known));
    rooms.push_back(most);
    room += most;
    if (room > std::numeric_limits<int>::max()) {
      return refused(fmt::format("{} ranks are more than muster can start", room),
                     "correct the number of slots in the host list");
    }
  }
  if (job.ranks > room && (job.oversubscribe || !says_room(job, hosts)))
    room = widen(rooms, job.ranks);
  std::vector<Placement> placements;
  std::int64_t placed = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::int64_t ranks =
        job.ranks == 0 ? rooms[i] : std::min<std::int64_t>(rooms[i], job.ranks - placed);
    if (ranks == 0) continue;
    placements.push_back({.host = hosts[i].name,
                          .first_rank = static_cast<int>(placed),
                          .ranks = static_cast<int>(ranks),
                          .here = hosts[i].here});
    placed += ranks;
  }
  if (job.ranks > room) return unexpected(too_many_ranks(job, room, hosts.size()));
  if (job.nodes > 0 && placements.size() < hosts.size()) {
    return unexpected(idle_hosts(job, placements.size()));
  }
  return placements;
}

}  // namespace muster::layout
