#include "rankenv/rank.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "engines/kind.hpp"

namespace muster::rankenv {
namespace {

// Prefix of a TORCHELASTIC_RUN_ID that muster's rank shim set, not torchrun.
constexpr const char* kOwnRun = "muster:";
constexpr int kMaxRanks = 100'000'000;  // a larger number is a mistake

// A number and the variable that it came from, for messages.
struct Told {
  std::string_view name;
  int value;
};
using MaybeTold = std::optional<Told>;
using Names = engines::Words;

Error refusal(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

Error contradiction(const Told& a, const Told& b) {
  return refusal(fmt::format("{}={} contradicts {}={}", a.name, a.value, b.name, b.value),
                 "one of these variables is left over from another launcher: unset it, or start "
                 "the job from a clean environment");
}

const std::string* find(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Result<MaybeTold> number(const Environment& environment, std::string_view name) {
  const std::string* text = find(environment, name);
  if (text == nullptr) return MaybeTold();
  int value = -1;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > kMaxRanks) {
    return unexpected(refusal(
        fmt::format("{}='{}' is not a number of ranks", name, printable(text->substr(0, 40))),
        "the launcher sets this variable; unset it if it is left over from another launcher"));
  }
  return MaybeTold(Told{name, value});
}

// Returns the first variable that is set. The others, where set, must have the same value.
Result<MaybeTold> agreed(const Environment& environment, const Names& names) {
  MaybeTold first;
  for (const std::string_view name : names) {
    MUSTER_TRY(const MaybeTold told, number(environment, name));
    if (!told) continue;
    if (!first) first = told;
    if (first->value != told->value) return unexpected(contradiction(*first, *told));
  }
  return first;
}

// Returns the first variable that is set.
Result<MaybeTold> first_of(const Environment& environment, const Names& names) {
  for (const std::string_view name : names) {
    if (find(environment, name) != nullptr) return number(environment, name);
  }
  return MaybeTold();
}

struct Claim {  // what one launcher says
  MaybeTold rank;
  MaybeTold size;
  MaybeTold local_rank;
  MaybeTold local_size;
  MaybeTold host_rank = {};
  MaybeTold host_count = {};
  const engines::RankVariables* variables = nullptr;  // the variables it was read from
};

Result<void> check_below(const MaybeTold& rank, const MaybeTold& size) {
  if (rank && size && rank->value >= size->value) return unexpected(contradiction(*rank, *size));
  return {};
}

Error missing(const Told& rank, std::string_view what) {
  return refusal(fmt::format("{}={} is set, but no variable gives {}", rank.name, rank.value, what),
                 "start the job with muster run, torchrun, or an mpirun that sets both");
}

void guess_hosts(Rank& rank) {
  const bool blocks =
      rank.size % rank.local_size == 0 && rank.rank % rank.local_size == rank.local_rank;
  if (!blocks) return;
  rank.host_rank = rank.rank / rank.local_size;
  rank.host_count = rank.size / rank.local_size;
}

Result<Rank> to_rank(const Claim& claim, std::string_view told_by) {
  if (!claim.rank) return unexpected(Error{.what = "there is no rank"});
  if (!claim.size) return unexpected(missing(*claim.rank, "the number of ranks"));
  Rank rank{.rank = claim.rank->value, .size = claim.size->value, .told_by = std::string(told_by)};
  MUSTER_CHECK(check_below(claim.rank, claim.size));
  MUSTER_CHECK(check_below(claim.local_rank, claim.local_size));
  MUSTER_CHECK(check_below(claim.host_rank, claim.host_count));
  if (claim.host_count && claim.host_count->value == 0) {
    return unexpected(contradiction(*claim.rank, *claim.host_count));
  }
  if (claim.local_size && claim.local_size->value > rank.size) {
    return unexpected(contradiction(*claim.local_size, *claim.size));
  }
  const bool local = claim.local_rank && claim.local_size;
  if (!local && rank.size > 1) {
    return unexpected(missing(*claim.rank, "the rank on this host and the number of ranks there"));
  }
  if (local) {
    rank.local_rank = claim.local_rank->value;
    rank.local_size = claim.local_size->value;
  }
  guess_hosts(rank);
  if (claim.host_rank) {
    rank.host_rank = claim.host_rank->value;
    rank.host_count.reset();
  }
  if (!claim.host_count) return rank;
  const bool wrongly_guessed = !claim.host_rank && rank.host_count != claim.host_count->value;
  if (wrongly_guessed) rank.host_rank.reset();
  rank.host_count = claim.host_count->value;
  return rank;
}

// Slurm's list of tasks per host, such as "2(x3),1": two tasks on each of three hosts, one on the
// fourth. Returns the entry of host `index`.
std::optional<int> tasks_on_host(std::string_view text, int index) {
  while (!text.empty()) {
    int tasks = 0;
    int hosts = 1;
    auto parsed = std::from_chars(text.data(), text.data() + text.size(), tasks);
    if (parsed.ec != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.starts_with("(x")) {
      parsed = std::from_chars(text.data() + 2, text.data() + text.size(), hosts);
      if (parsed.ec != std::errc()) return std::nullopt;
      text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
      if (!text.starts_with(')')) return std::nullopt;
      text.remove_prefix(1);
    }
    if (index < hosts) return tasks;
    index -= hosts;
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return std::nullopt;
}

bool has_any(const Environment& environment, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return find(environment, name) != nullptr; });
}

// Returns what the launcher with these variables says; nothing if it did not start this process.
Result<std::optional<Claim>> claim_by(const engines::RankVariables& variables,
                                      const Environment& environment) {
  Claim claim{.variables = &variables};
  MUSTER_TRY(claim.rank, agreed(environment, variables.rank));
  const bool is_rank = variables.needed.empty() || has_any(environment, variables.needed);
  if (!claim.rank || !is_rank) return std::optional<Claim>();
  MUSTER_TRY(claim.size, first_of(environment, variables.size));
  MUSTER_TRY(claim.local_rank, first_of(environment, variables.local_rank));
  MUSTER_TRY(claim.local_size, first_of(environment, variables.local_size));
  MUSTER_TRY(claim.host_rank, first_of(environment, variables.host_rank));
  MUSTER_TRY(claim.host_count, first_of(environment, variables.host_count));
  const std::string* tasks = find(environment, variables.ranks_per_host);
  if (tasks != nullptr && claim.host_rank) {
    if (const auto here = tasks_on_host(*tasks, claim.host_rank->value); here && *here > 0) {
      claim.local_size = Told{variables.ranks_per_host, *here};
    }
  }
  return std::optional<Claim>(claim);
}

// Whether torchrun's variables are complete. A run id that a rank shim set does not count, because
// the program may now start another job, which inherits the variables.
bool is_torchrun(const Environment& environment) {
  for (const char* name : {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK",
                           "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK"}) {
    if (find(environment, name) == nullptr) return false;
  }
  return !find(environment, "TORCHELASTIC_RUN_ID")->starts_with(kOwnRun);
}

// RANK and WORLD_SIZE alone, as in a Kubernetes pod, mean one process per host.
Result<Rank> by_torch_names(const Environment& environment, const char* told_by) {
  Claim claim;
  MUSTER_TRY(claim.rank, number(environment, "RANK"));
  MUSTER_TRY(claim.size, number(environment, "WORLD_SIZE"));
  MUSTER_TRY(claim.local_rank, number(environment, "LOCAL_RANK"));
  MUSTER_TRY(claim.local_size, number(environment, "LOCAL_WORLD_SIZE"));
  MUSTER_TRY(claim.host_rank, number(environment, "GROUP_RANK"));
  MUSTER_TRY(claim.host_count, number(environment, "GROUP_WORLD_SIZE"));
  if (!claim.local_rank && !claim.local_size) {
    claim.local_rank = Told{"LOCAL_RANK", 0};
    claim.local_size = Told{"LOCAL_WORLD_SIZE", 1};
  }
  return to_rank(claim, told_by);
}

// PET_* variables are torchrun's flags, which describe hosts. With one process per host they also
// describe the process.
Result<Rank> by_pet(const Environment& environment) {
  const std::string* processes = find(environment, "PET_NPROC_PER_NODE");
  if (processes != nullptr && *processes != "1") {
    return unexpected(refusal(fmt::format("PET_NPROC_PER_NODE={} says how many processes this host "
                                          "has, but no variable says which one this process is",
                                          printable(processes->substr(0, 40))),
                              "start the program with torchrun, which reads the PET_ variables"));
  }
  Claim claim{.local_rank = Told{"PET_NPROC_PER_NODE", 0},
              .local_size = Told{"PET_NPROC_PER_NODE", 1}};
  MUSTER_TRY(claim.rank, number(environment, "PET_NODE_RANK"));
  MUSTER_TRY(claim.size, number(environment, "PET_NNODES"));
  return to_rank(claim, "PET");
}

Result<void> check_same(const MaybeTold& a, const MaybeTold& b) {
  if (a && b && a->value != b->value) return unexpected(contradiction(*a, *b));
  return {};
}

// Whether the workload manager set the launcher's variables itself, for its own ranks.
bool is_told_by(const Claim& manager, const Claim& launcher) {
  return launcher.variables->set_by_managers_too && launcher.rank && manager.rank &&
         launcher.rank->value == manager.rank->value;
}

void fill_from(Claim& claim, const Claim& other) {
  for (auto member : {&Claim::size, &Claim::local_rank, &Claim::local_size, &Claim::host_rank,
                      &Claim::host_count}) {
    if (!(claim.*member)) claim.*member = other.*member;
  }
}

struct Claims {
  std::vector<Claim> launchers = {};
  // A workload manager, which may have started the launcher.
  std::optional<Claim> manager = std::nullopt;
};

Result<Claims> read_claims(const Environment& environment) {
  Claims claims;
  for (const engines::RankVariables* variables : engines::rank_variables()) {
    MUSTER_TRY(const auto claim, claim_by(*variables, environment));
    if (!claim) continue;
    if (!variables->of_manager) claims.launchers.push_back(*claim);
    if (variables->of_manager && !claims.manager) claims.manager = claim;
  }
  return claims;
}

// Also checks the rank against variables that several launchers set.
Result<Rank> to_rank(const Claim& claim, const Environment& environment) {
  Names names = claim.variables->rank;
  names.insert(names.end(), claim.variables->same_rank.begin(), claim.variables->same_rank.end());
  MUSTER_CHECK(agreed(environment, names));
  return to_rank(claim, claim.variables->told_by);
}

// A launcher's claim wins over the manager's, because the manager may have started only the
// launcher.
Result<std::optional<Rank>> by_launcher(const Environment& environment) {
  MUSTER_TRY(Claims claims, read_claims(environment));
  for (Claim& claim : claims.launchers) {
    if (claims.manager && is_told_by(*claims.manager, claim)) {
      fill_from(claim, *claims.manager);
    } else {
      MUSTER_CHECK(check_same(claims.launchers.front().rank, claim.rank));
    }
  }
  if (!claims.launchers.empty()) return to_rank(claims.launchers.front(), environment);
  if (claims.manager) return to_rank(*claims.manager, environment);
  MUSTER_TRY(const MaybeTold pmix, number(environment, "PMIX_RANK"));
  if (pmix) return unexpected(missing(*pmix, "the number of ranks"));
  return std::optional<Rank>();
}

}  // namespace

Result<Rank> read(const Environment& environment) {
  if (is_torchrun(environment)) {
    MUSTER_TRY(Rank rank, by_torch_names(environment, "torchrun"));
    rank.under_agent = true;
    return rank;
  }
  MUSTER_TRY(const auto told, by_launcher(environment));
  if (told) return *told;
  if (find(environment, "RANK") != nullptr) return by_torch_names(environment, "RANK");
  if (find(environment, "PET_NODE_RANK") != nullptr) return by_pet(environment);
  return Rank{.host_rank = 0, .host_count = 1};
}

bool is_mpi_job(const Rank& rank, const Environment& environment) {
  for (const engines::RankVariables* variables : engines::rank_variables()) {
    if (variables->told_by != rank.told_by) continue;
    return !variables->of_manager || has_any(environment, variables->same_rank);
  }
  return false;
}

std::map<std::string, std::optional<std::string>> variables(const Rank& rank,
                                                            const std::string& run_id) {
  const auto text = [](std::optional<int> value) {
    return value ? std::optional<std::string>(std::to_string(*value)) : std::nullopt;
  };
  if (rank.under_agent) {
    return {{"RANK", text(rank.rank)},
            {"ROLE_RANK", text(rank.rank)},
            {"GROUP_RANK", text(rank.host_rank)}};
  }
  return {
      {"RANK", text(rank.rank)},
      {"WORLD_SIZE", text(rank.size)},
      {"LOCAL_RANK", text(rank.local_rank)},
      {"LOCAL_WORLD_SIZE", text(rank.local_size)},
      {"GROUP_RANK", text(rank.host_rank)},
      {"GROUP_WORLD_SIZE", text(rank.host_count)},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", text(rank.rank)},
      {"ROLE_WORLD_SIZE", text(rank.size)},
      {"TORCHELASTIC_RUN_ID", kOwnRun + run_id},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      // under torchrun, its agent would serve the store; here rank 0 does
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
  };
}

}  // namespace muster::rankenv
