#include "hosts/allocation.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "hosts/expression.hpp"
#include "hosts/host_collector.hpp"
#include "hosts/item.hpp"
#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kTasks = "SLURM_TASKS_PER_NODE";

// Returns the first variable that is set and not empty. Older versions of Slurm lack the names that
// begin with SLURM_JOB_.
std::pair<std::string, std::string> first_of(const Variables& environment,
                                             std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return *found;
  }
  return {*names.begin(), {}};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), is_digit);
}

// Parses "2(x3),1", which means two on each of three hosts and one on the fourth. Fails if there
// are more than `most` numbers.
Result<std::vector<int>> parse_counts(const Source& source, std::size_t most) {
  std::vector<int> counts;
  const std::string_view text = source.text;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::size_t open = std::min(text.find("(x", at), end);
    MUSTER_TRY(const int count, parse_count(source, at, open, kMaxSlots, "number of tasks"));
    int times = 1;
    if (open < end) {
      if (text[end - 1] != ')') return unexpected(source.refuse(open, "'(x' without its ')'"));
      MUSTER_TRY(times, parse_count(source, open + 2, end - 1, static_cast<int>(kMaxHosts),
                                    "number of hosts"));
    }
    if (counts.size() + static_cast<std::size_t>(times) > most) {
      return unexpected(source.refuse(
          at, fmt::format("this describes more hosts than the {} of the allocation", most)));
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
    at = end + 1;
  }
  return counts;
}

// Adds the numbers of tasks as slots. In a step, such as an interactive shell, the variable
// describes the step and not the job, so it is ignored there.
Result<void> add_slots(const Variables& environment, std::vector<Host>& hosts) {
  const auto tasks = environment.find(kTasks);
  if (tasks == environment.end() || environment.contains("SLURM_STEP_ID")) return {};
  const Source source{.text = tasks->second, .name = kTasks};
  MUSTER_TRY(const auto counts, parse_counts(source, hosts.size()));
  if (counts.size() < hosts.size()) {
    return unexpected(
        source.refuse(0, fmt::format("this describes {} hosts, but the allocation has {}",
                                     counts.size(), hosts.size())));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].slots = counts[i];
  return {};
}

Result<void> refuse_many(const Variables& environment) {
  const auto tasks = environment.find("SLURM_STEP_NUM_TASKS");
  if (tasks == environment.end() || tasks->second == "1") return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("srun started muster SLURM_STEP_NUM_TASKS={} times",
                                              printable(tasks->second.substr(0, 40))),
                          .hint = "start muster once, without srun: it starts the ranks itself"});
}

}  // namespace

Result<std::optional<Allocation>> read_allocation(const Variables& environment) {
  const auto [job_name, job] = first_of(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  if (job.empty()) return std::optional<Allocation>();
  if (!is_number(job)) {
    return unexpected(Source{.text = job, .name = job_name}.refuse(
        0, fmt::format("{} is not the number of a job", excerpt(job)),
        "Slurm sets this variable; unset it outside an allocation"));
  }
  const auto [list_name, list] = first_of(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (list.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("the variable {} is set, but {} is not", job_name, list_name),
              .hint = fmt::format("outside an allocation, unset {}", job_name)});
  }
  MUSTER_CHECK(refuse_many(environment));
  MUSTER_TRY(std::vector<Host> hosts, parse_expression({.text = list, .name = list_name}));
  MUSTER_CHECK(add_slots(environment, hosts));
  return std::optional<Allocation>(Allocation{.job = job, .hosts = std::move(hosts)});
}

}  // namespace muster::hosts
