#include "hosts/pod.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "engines/kind.hpp"
#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

constexpr int kMost = 1'000'000;  // a larger number must be a mistake
constexpr int kLastPort = 65535;
constexpr int kUsualPort = 29500;  // PyTorch's default, used if no port is given
constexpr std::size_t kShown = 40;

struct Told {
  std::string name;
  int value = 0;
};
using MaybeTold = std::optional<Told>;

unexpected<Error> refused(std::string what, std::string hint) {
  return unexpected(
      Error{.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)});
}

unexpected<Error> contradiction(const std::string& a, const std::string& b) {
  return refused(fmt::format("{} contradicts {}", a, b),
                 "unset the variable that is left over from another launcher; the platform sets "
                 "the other one");
}

std::string text_of(const Told& told) {
  return fmt::format("{}={}", told.name, told.value);
}

std::string value(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// Whether muster was started as a rank, or inside a Slurm allocation.
bool has_launcher(const Environment& environment) {
  engines::Words names = {"LOCAL_RANK", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"};
  for (const engines::RankVariables* variables : engines::rank_variables()) {
    for (const engines::Words& more : {variables->rank, variables->same_rank}) {
      names.insert(names.end(), more.begin(), more.end());
    }
  }
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return !value(environment, std::string(name)).empty();
  });
}

unexpected<Error> senseless(const std::string& name, const std::string& text,
                            std::string_view what) {
  return refused(
      fmt::format("{}='{}' is not {}", name, printable(text.substr(0, kShown)), what),
      "the platform sets this variable in each pod; if it is left over from another job, unset it");
}

std::optional<int> number_in(std::string_view text, int most) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number <= most ? std::optional<int>(number) : std::nullopt;
}

Result<MaybeTold> number(const Environment& environment, const std::string& name,
                         std::string_view what, int most = kMost) {
  const std::string text = value(environment, name);
  if (text.empty()) return MaybeTold();
  const auto parsed = number_in(text, most);
  if (!parsed) return senseless(name, text, what);
  return MaybeTold(Told{name, *parsed});
}

// Parses "3" or "3:3". Rejects "1:3" of an elastic job, whose pods have no fixed numbers.
Result<MaybeTold> pet_nodes(const Environment& environment) {
  const std::string name = "PET_NNODES";
  const std::string text = value(environment, name);
  const std::size_t colon = text.find(':');
  if (text.empty()) return MaybeTold();
  const auto most = number_in(std::string_view(text).substr(colon + 1), kMost);
  const auto least =
      colon == std::string::npos ? most : number_in(std::string_view(text).substr(0, colon), kMost);
  if (!most || !least) return senseless(name, text, "a number of pods");
  if (*least != *most) {
    return refused(
        fmt::format("{}={}: the job is elastic, and pods of an elastic job have no fixed numbers",
                    name, printable(text)),
        "call torchrun directly, which assigns new numbers at each start, or submit the job with a "
        "fixed number of pods");
  }
  return MaybeTold(Told{name, *most});
}

struct Telling {  // values of the environment, before they are compared
  MaybeTold count;
  MaybeTold rank;
  MaybeTold world_size;  // of WORLD_SIZE, even if another variable gives the count
  MaybeTold processes;   // of PET_NPROC_PER_NODE
  std::string ranks_by = {};
};

Result<void> read_processes(const Environment& environment, Telling& telling) {
  const std::string name = "PET_NPROC_PER_NODE";
  const std::string text = value(environment, name);
  if (text == "auto" || text == "cpu" || text == "gpu") {
    telling.ranks_by = text;
    return {};
  }
  MUSTER_TRY(telling.processes, number(environment, name, "a number of processes"));
  if (telling.processes && telling.processes->value == 0) {
    return senseless(name, text, "a number of processes");
  }
  return {};
}

Result<Telling> read_numbers(const Environment& environment) {
  Telling telling;
  MUSTER_TRY(telling.world_size, number(environment, "WORLD_SIZE", "a number of pods"));
  MUSTER_TRY(telling.count, pet_nodes(environment));
  if (!telling.count) telling.count = telling.world_size;
  MUSTER_TRY(const MaybeTold rank, number(environment, "RANK", "a pod's number"));
  MUSTER_TRY(telling.rank, number(environment, "PET_NODE_RANK", "a pod's number"));
  if (telling.rank && rank && telling.rank->value != rank->value) {
    return contradiction(text_of(*telling.rank), text_of(*rank));
  }
  if (!telling.rank) telling.rank = rank;
  MUSTER_CHECK(read_processes(environment, telling));
  return telling;
}

Result<void> check(const Telling& telling, const Told& count, const Told& rank) {
  if (rank.value >= count.value) return contradiction(text_of(rank), text_of(count));
  if (!telling.world_size || telling.world_size->value == count.value) return {};
  const std::int64_t processes = telling.processes ? telling.processes->value : 1;
  if (telling.world_size->value == processes * count.value) return {};
  return contradiction(text_of(count), text_of(*telling.world_size));
}

// Returns the value of the first variable that is set. Fails if both are set and differ.
Result<std::string> agreed(const Environment& environment, const std::string& name,
                           const std::string& other_name) {
  const std::string one = value(environment, name);
  const std::string other = value(environment, other_name);
  if (!one.empty() && !other.empty() && one != other) {
    return contradiction(fmt::format("{}={}", name, printable(one.substr(0, kShown))),
                         fmt::format("{}={}", other_name, printable(other.substr(0, kShown))));
  }
  return one.empty() ? other : one;
}

Result<void> read_master(const Environment& environment, Pod& pod) {
  MUSTER_TRY(pod.master_address, agreed(environment, "PET_MASTER_ADDR", "MASTER_ADDR"));
  MUSTER_TRY(const std::string port, agreed(environment, "PET_MASTER_PORT", "MASTER_PORT"));
  if (pod.master_address.empty() && pod.count > 1) {
    return refused(
        fmt::format("{}={} gives the number of pods, but MASTER_ADDR, the address of the first "
                    "pod, is not set",
                    pod.told_by, pod.count),
        "in pods the platform sets MASTER_ADDR; on hosts that you reach over ssh, unset " +
            pod.told_by + " and name the hosts with -H");
  }
  if (pod.master_address.empty()) pod.master_address = "127.0.0.1";
  if (!is_name(pod.master_address) && !is_ipv6(pod.master_address)) {
    return senseless("MASTER_ADDR", pod.master_address, "a host's name or address");
  }
  const auto parsed = port.empty() ? kUsualPort : number_in(port, kLastPort);
  if (!parsed || *parsed == 0) return senseless("MASTER_PORT", port, "a port");
  pod.master_port = *parsed;
  return {};
}

}  // namespace

Result<std::optional<Pod>> read_pod(const Environment& environment) {
  if (has_launcher(environment)) return std::optional<Pod>();
  MUSTER_TRY(const Telling telling, read_numbers(environment));
  if (!telling.count || !telling.rank) return std::optional<Pod>();
  MUSTER_CHECK(check(telling, *telling.count, *telling.rank));
  Pod pod{.count = telling.count->value,
          .rank = telling.rank->value,
          .ranks_by = telling.ranks_by,
          .told_by = telling.count->name};
  if (telling.processes) pod.ranks_per_pod = telling.processes->value;
  MUSTER_CHECK(read_master(environment, pod));
  return std::optional<Pod>(pod);
}

Result<int> ranks_on_each(const Pod& pod, const PodRequest& request) {
  const auto is_so = [&](std::string asked, std::string told) {
    return refused(fmt::format("you asked for {}, but {}", asked, told),
                   "leave the flag out: the platform decides this");
  };
  const std::string pods =
      fmt::format("{}={} is the number of pods of this job", pod.told_by, pod.count);
  if (request.pods != 0 && request.pods != pod.count) {
    return is_so(fmt::format("--nnodes {}", request.pods), pods);
  }
  if (request.rank && *request.rank != pod.rank) {
    return is_so(fmt::format("--node-rank {}", *request.rank),
                 fmt::format("{}={} is this pod's number",
                             pod.told_by == "WORLD_SIZE" ? "RANK" : "PET_NODE_RANK", pod.rank));
  }
  if (request.ranks_per_pod != 0 && pod.ranks_per_pod &&
      *pod.ranks_per_pod != request.ranks_per_pod) {
    return is_so(fmt::format("--nproc-per-node {}", request.ranks_per_pod),
                 fmt::format("PET_NPROC_PER_NODE={}", *pod.ranks_per_pod));
  }
  const int each =
      request.ranks_per_pod != 0 ? request.ranks_per_pod : pod.ranks_per_pod.value_or(0);
  if (request.ranks == 0) return each;
  const std::int64_t all = std::int64_t{each} * pod.count;
  if (each == 0 ? request.ranks % pod.count != 0 : request.ranks != all) {
    return refused(
        fmt::format("you asked for -n {}, but {}{}", request.ranks, pods,
                    each == 0 ? std::string(", which each have the same number of ranks")
                              : fmt::format(", with {} ranks each: {}", each, all)),
        each == 0 ? fmt::format("ask for a multiple of {}, or pass --nproc-per-node", pod.count)
                  : fmt::format("pass -n {}, or leave -n out", all));
  }
  return each == 0 ? request.ranks / pod.count : each;
}

}  // namespace muster::hosts
