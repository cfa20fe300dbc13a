#include <algorithm>

#include <fmt/format.h>

#include "engines/kind.hpp"

namespace muster::engines {
namespace {

const RankVariables open_mpi_ranks = {.told_by = "Open MPI",
                                      .rank = {"OMPI_COMM_WORLD_RANK"},
                                      .same_rank = {"PMIX_RANK"},
                                      .size = {"OMPI_COMM_WORLD_SIZE"},
                                      .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
                                      .local_size = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
                                      .in_code = {"OMPI_COMM_WORLD_"}};

const RankVariables pmi_ranks = {.told_by = "PMI",
                                 .rank = {"PMI_RANK", "PMI_ID"},
                                 .size = {"PMI_SIZE"},
                                 .local_rank = {"MPI_LOCALRANKID"},
                                 .local_size = {"MPI_LOCALNRANKS"},
                                 .in_code = {"PMI_RANK", "PMI_SIZE"},
                                 .set_by_managers_too = true};

// A process is a rank only inside a Slurm step. A batch script also has SLURM_PROCID=0 and
// SLURM_NTASKS=8, but is a single process.
const RankVariables slurm_ranks = {.told_by = "Slurm",
                                   .rank = {"SLURM_PROCID"},
                                   .same_rank = {"PMIX_RANK"},
                                   .needed = {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},
                                   .size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                                   .local_rank = {"SLURM_LOCALID"},
                                   .host_rank = {"SLURM_NODEID"},
                                   .host_count = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
                                   .ranks_per_host = "SLURM_STEP_TASKS_PER_NODE",
                                   .of_manager = true};

// MPICH, and Intel MPI, which is derived from it, print "Abort(7) on node 1 (rank 1 in comm 0):
// ...".
const Messages hydra_messages = {.cut_off = {"Communication error with rank"},
                                 .aborts = {{.before = "\nAbort(", .after = ") on node "}},
                                 .last_lines = {"Abort("}};

const std::vector<Kind> rows = {
    {.word = kOpenMpi,
     .name = "Open MPI",
     .launchers = {"mpirun", "mpirun.openmpi"},
     .is_mpi = true,
     .daemons = {"prted", "orted"},
     .pmi = "pmix",
     .package = "openmpi",
     .network_flag = "--mca btl_tcp_if_include",
     .ipv6_hosts_since = 5,
     .ranks = &open_mpi_ranks,
     .variables = {"OMPI_", "OPAL_", "PMIX_", "PRTE_"},
     .processes = {"prted", "orted", "prterun", "prte", "orterun", "mpirun", "mpirun.openmpi"},
     .messages = {.cut_off = {"*** An error occurred in Socket closed"},
                  .aborts = {{.begins = "\nMPI_ABORT was invoked on rank ",
                              .before = "\nwith errorcode ",
                              .after = ".\n"},
                             {.begins = "\nMPI_ABORT was invoked on rank ",
                              .before = "\n  Errorcode: ",
                              .after = "\n"}},
                  .error = "*** An error occurred in ",
                  .reporter = "*** reported by process ["},
     .flags = {{"--mca --prtemca --pmixmca --gmca", 2, true},
               {"--rank-by --display --stream-buffering", 1},
               {"--use-hwthread-cpus --enable-recovery", 0}}},
    {.word = kMpich,
     .name = "MPICH",
     .launchers = {"mpirun", "mpirun.mpich"},
     .is_mpi = true,
     .daemons = {"hydra_pmi_proxy"},
     .fits_all_versions = true,
     .pmi = "pmi2",
     .package = "mpich",
     .no_ipv6 = "its launcher, hydra, connects over IPv4 only",
     .ranks = &pmi_ranks,
     .variables = {"PMI_", "HYD", "MPI_", "MPIR_", "PALS_"},
     .processes = {"mpiexec", "mpiexec.hydra", "hydra_pmi_proxy"},
     .messages = hydra_messages,
     .flags = {{"--print-all-exitcodes --disable-auto-cleanup", 0},
               {"--membind --topolib --gpus-per-proc --usize", 1}}},
    {.word = kIntel,
     .name = "Intel MPI",
     .launchers = {"mpirun"},
     .is_mpi = true,
     .daemons = {"hydra_bstrap_proxy"},
     .fits_all_versions = true,
     .pmi = "pmi2",
     .package = "impi-rt",
     .before_install =
         "if oneAPI is installed, add --activate 'source /opt/intel/oneapi/setvars.sh'; else ",
     .opens_library = "libfabric.so.1",
     .library_variable = "I_MPI_OFI_LIBRARY",
     .ranks = &pmi_ranks,
     .variables = {"PMI_", "HYD", "MPI_", "MPIR_", "I_MPI_"},
     .processes = {"mpiexec.hydra", "hydra_bstrap_pr", "hydra_pmi_proxy"},
     .messages = hydra_messages,
     .flags = {{"--prot", 0}, {"--tune --gtool", 1}}},
    {.word = "torchrun",
     .name = "torchrun, PyTorch",
     .launchers = {"torchrun"},
     .comes_with_pytorch = true,
     .is_elastic = true,
     .open_rendezvous = "c10d",
     .package = "torch",
     .flags = {{"--rdzv-conf --monitor-interval --start-method --event-log-handler --local-addr "
                "--logs-specs --numa-binding --signals-to-handle --shutdown-timeout "
                "--duplicate-stdout-filters --duplicate-stderr-filters",
                1},
               {"--virtual-local-rank", 0}}},
    {.word = "slurm",
     .name = "Slurm",
     .launchers = {"srun"},
     .hosts_by = HostsBy::kAllocation,
     .pmi_flag = "--mpi",
     .ranks = &slurm_ranks,
     .variables = {"SLURM_"},
     .processes = {"srun"},
     .flags = {{"--mpi", 1}, {"--overlap", 0}}},
    {.word = "pods",
     .name = "torchrun in pods, PyTorch",
     .launchers = {"torchrun"},
     .hosts_by = HostsBy::kPod,
     .comes_with_pytorch = true,
     .restarts_ranks = true,
     .open_rendezvous = "c10d",
     .package = "torch"},
};

template <class Wanted>
const Kind& first(const Wanted& wanted) {
  static const Kind none = {};
  const auto found = std::find_if(all().begin(), all().end(), wanted);
  return found == all().end() ? none : *found;
}

}  // namespace

const std::vector<Kind>& all() {
  return rows;
}

const Kind& find(std::string_view word) {
  return first([&](const Kind& kind) { return kind.word == word; });
}

const Kind& reached_by(HostsBy way) {
  return first([&](const Kind& kind) { return kind.hosts_by == way; });
}

const Kind& with_pytorch(HostsBy way) {
  return first([&](const Kind& kind) { return kind.comes_with_pytorch && kind.hosts_by == way; });
}

std::vector<const RankVariables*> rank_variables() {
  std::vector<const RankVariables*> found;
  for (const Kind& kind : all()) {
    const bool is_new = std::find(found.begin(), found.end(), kind.ranks) == found.end();
    if (kind.ranks != nullptr && is_new) found.push_back(kind.ranks);
  }
  return found;
}

Words mpi_launchers() {
  Words names;
  for (const Kind& kind : all()) {
    if (!kind.is_mpi) continue;
    for (const std::string_view name : kind.launchers) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string name_of(std::string_view word, std::string_view version) {
  const std::string_view known = find(word).name;
  const std::string_view name = !known.empty() ? known : word.empty() ? "an unknown MPI" : word;
  return version.empty() ? std::string(name) : fmt::format("{} {}", name, version);
}

}  // namespace muster::engines
