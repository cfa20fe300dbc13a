#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/engine_plans.hpp"
#include "launch/words.hpp"

namespace muster::launch {
namespace {

class SlurmWriter : CommandWriter {
 public:
  using CommandWriter::CommandWriter;

  Plan write() {
    plan_.term_kills_ranks = true;
    argv_ = {layout_.engine.launcher, "--quiet", "--jobid", means_.allocation};
    // The wardens are steps too, so the step needs --overlap. --overcommit allows more ranks than
    // CPUs: the user wants them, and muster has already warned.
    add({"--overlap", "--overcommit"});
    add_hosts();
    if (!layout_.engine.pmi.empty()) set("--mpi", {}, layout_.engine.pmi);
    set("--input", "-i", "0");
    set("--cpu-bind", {}, engine_binding(layout_));
    set("--kill-on-bad-exit", "-K", "1");
    // The step gets our whole environment, as is usual with Slurm, so no value is on the command
    // line.
    set("--export", {}, "ALL");
    (void)add_variables(job_, layout_, means_, plan_);
    add_mpi_settings();
    return finish();
  }

 private:
  // Sets the flag unless the user gave it to the engine, in its long or short form.
  void set(std::string_view flag, std::string_view short_flag, std::string_view value) {
    const bool given =
        given_by_user(job_, flag) || (!short_flag.empty() && given_by_user(job_, short_flag));
    if (given) {
      plan_.notes.push_back(stays_as_engine_arg(flag));
    } else {
      add({fmt::format("{}={}", flag, value)});
    }
  }

  void add_hosts() {
    add({"-N", std::to_string(layout_.placements.size()), "-n", std::to_string(layout_.ranks)});
    const int each = ranks_on_each(layout_);
    if (each == 0) return add_host_file();
    std::vector<std::string> names;
    for (const layout::Placement& placement : layout_.placements) names.push_back(placement.host);
    add({fmt::format("--ntasks-per-node={}", each), "-w",
         fmt::format("{}", fmt::join(names, ","))});
    set("--distribution", "-m", layout_.map_by.empty() ? "block" : layout_.map_by);
  }

  // If hosts get different numbers of ranks, only a file with one line per rank can express that.
  void add_host_file() {
    PlanFile file{.path = means_.folder + "/hosts", .content = {}};
    for (const layout::Placement& placement : layout_.placements) {
      for (int i = 0; i < placement.ranks; ++i) file.content += placement.host + "\n";
    }
    plan_.env.push_back("SLURM_HOSTFILE=" + file.path);
    plan_.files.push_back(std::move(file));
    add({"--distribution=arbitrary"});
  }

  // Sets what muster would pass to the MPI's own launcher if srun did not start the ranks.
  void add_mpi_settings() {
    const auto set_mpi = [this](const char* name, const std::string& value) {
      set_for_engine(plan_, means_, name, value);
    };
    if (layout_.engine.mpi == "openmpi") {
      if (!layout_.subnet.empty() && !is_ipv6(layout_))
        set_mpi("OMPI_MCA_btl_tcp_if_include", layout_.subnet);
      if (layout_.oversubscribed) set_mpi("OMPI_MCA_mpi_yield_when_idle", "1");
    } else if (layout_.engine.mpi == "intel") {
      // Slurm's library, which each host finds in its library path.
      set_mpi("I_MPI_PMI_LIBRARY", "libpmi2.so.0");
      if (engine_binding(layout_) == "none") set_mpi("I_MPI_PIN", "0");
      if (layout_.oversubscribed) set_mpi("I_MPI_THREAD_YIELD", "2");
    }
  }
};

}  // namespace

Result<Plan> plan_slurm(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  if (means.allocation.empty()) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "srun needs an allocation, but muster does not run inside one",
                            .hint = "use salloc -N 2 muster run ..., or muster submit ..."});
  }
  return SlurmWriter(job, layout, means).write();
}

}  // namespace muster::launch
