// What muster knows about each engine. An engine is a program that starts ranks: an MPI's mpirun,
// srun, torchrun. Each is one row in table.cpp. All other code reads the properties of a row. Only
// src/launch, which writes the engines' commands, asks which engine it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::engines {

using Words = std::vector<std::string_view>;

// How muster reaches the hosts on which the engine starts ranks.
enum class HostsBy {
  kSsh,
  kAllocation,  // by steps of the Slurm job in which muster runs
  kPod,         // not at all: each pod runs its own muster
};

// The environment variables that tell a rank its place in the job.
struct RankVariables {
  std::string_view told_by = {};  // name of the launcher, for messages
  Words rank = {};                // every rank has at least one; several must agree
  Words same_rank = {};           // same value as `rank`, but other launchers set them too
  Words needed = {};              // if not empty, only a process with one of these is a rank
  // Here and in the next four lists, the first variable that is set counts.
  Words size = {};
  Words local_rank = {};
  Words local_size = {};
  Words host_rank = {};
  Words host_count = {};
  std::string_view ranks_per_host = {};  // a list such as "2(x3),1", instead of local_size
  // Python code that contains one of these was written for this launcher.
  Words in_code = {};
  bool of_manager = false;           // set by a resource manager, which may start other launchers
  bool set_by_managers_too = false;  // resource managers set the same variables for their own ranks
};

// What MPI prints when it ends a rank, with the exit code between `before` and `after`.
struct AbortMessage {
  std::string_view begins = {};  // the exit code follows it; empty: the code may be anywhere
  std::string_view before;
  std::string_view after;
};

// The messages by which the output of ranks and engine shows why a rank ended.
struct Messages {
  Words cut_off = {};  // printed to stderr by a rank that lost its connection to another rank
  std::vector<AbortMessage> aborts = {};
  Words last_lines = {};           // beginnings of lines that a rank prints when it is about to end
  std::string_view error = {};     // in the first line of the report on a fatal error
  std::string_view reporter = {};  // in the same report, before "JOB,RANK]"
};

// Flags of the engine's own command line, which users may pass to muster out of habit.
struct Flags {
  std::string_view names;  // separated by blanks
  int values = 0;          // how many values follow each flag
  bool passed_on =
      false;  // true: muster uses this engine and passes the flag on; false: it says how to do so
};

struct Kind {
  std::string_view word = {};  // in --engine and in JSON
  std::string_view name = {};  // for people; a version may follow
  Words launchers = {};  // file names of the program that starts the ranks, the usual one first
  HostsBy hosts_by = HostsBy::kSsh;

  // An MPI has its launcher at the same path on all hosts. Its daemons connect to the machine on
  // which muster runs, and programs must be linked to a matching library.
  bool is_mpi = false;
  // The program that an MPI's launcher starts on other hosts, in the directory of the launcher. The
  // first one that exists counts.
  Words daemons = {};
  // Its launcher starts the ranks of every MPI with the same `pmi`. Otherwise only those of its own
  // major version.
  bool fits_all_versions = false;
  // For an MPI: how its ranks talk to a resource manager that starts them.
  std::string_view pmi = {};
  // For a resource manager that can start ranks of any MPI: its flag that takes a `pmi`.
  std::string_view pmi_flag = {};

  bool comes_with_pytorch = false;  // every host has its own, of the same version as PyTorch
  bool restarts_ranks = false;      // always restarts ranks by itself, so muster does not
  // With --nnodes MIN:MAX it restarts ranks and continues with fewer hosts by itself.
  bool is_elastic = false;
  // The rendezvous backend that listens on all interfaces, such as "c10d". Empty if the engine has
  // no such backend.
  std::string_view open_rendezvous = {};

  std::string_view package = {};         // name on PyPI
  std::string_view before_install = {};  // what to try before the package is installed
  // Its libmpi opens this library when MPI starts, and `library_variable` can name another one.
  // Empty if it opens none.
  std::string_view opens_library = {};
  std::string_view library_variable = {};
  // Flag that restricts the engine to a subnet; without it the engine may hang.
  std::string_view network_flag = {};
  std::string_view no_ipv6 = {};  // why it cannot start ranks over IPv6; empty if it can
  int ipv6_hosts_since = 0;  // first major version that accepts IPv6 addresses in its list of hosts

  const RankVariables* ranks = nullptr;  // null: PyTorch's own (RANK, WORLD_SIZE, ...)
  Words variables = {};                  // prefixes of the variables that it sets for ranks
  Words processes = {};  // names of its processes, cut to 15 characters as in the kernel
  Messages messages = {};
  std::vector<Flags> flags = {};
};

// The words of the MPIs that src/facts recognises by their files.
inline constexpr const char* kOpenMpi = "openmpi";
inline constexpr const char* kMpich = "mpich";
inline constexpr const char* kIntel = "intel";

// Returns all engines, in the order of --help.
[[nodiscard]] const std::vector<Kind>& all();

// Returns the engine with this word, or a row with nothing set if there is none.
[[nodiscard]] const Kind& find(std::string_view word);

// Returns the first engine that reaches its hosts in this way.
[[nodiscard]] const Kind& reached_by(HostsBy way);

// Returns the first engine that comes with PyTorch and reaches its hosts in this way.
[[nodiscard]] const Kind& with_pytorch(HostsBy way);

// Returns the rank variables of all engines, without duplicates, in the order of all().
[[nodiscard]] std::vector<const RankVariables*> rank_variables();

// Returns the file names of all MPIs' launchers, without duplicates.
[[nodiscard]] Words mpi_launchers();

// Returns a name for people, such as "Open MPI 5.0.11". An unknown word is returned as it is.
[[nodiscard]] std::string name_of(std::string_view word, std::string_view version = {});

}  // namespace muster::engines
