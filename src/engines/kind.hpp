// What muster knows about each engine. An engine is a program that starts ranks: an MPI's mpirun,
// srun, torchrun. Each is one row in table.cpp. All other code asks a row for what it needs; only
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
  kAllocation,  // by steps of the Slurm job that muster runs in
  kPod,         // not at all: each pod runs a muster of its own
};

// The environment variables that tell a rank its place in the job.
struct RankVariables {
  std::string_view told_by = {};  // for messages
  Words rank = {};                // a rank has at least one; if several, they agree
  Words same_rank = {};           // agree with it too, but other launchers also set them
  Words needed = {};              // a process with none of these is not a rank; empty: it is
  Words size = {};                // of these and the next four, the first that is set counts
  Words local_rank = {};
  Words local_size = {};
  Words host_rank = {};
  Words host_count = {};
  std::string_view ranks_per_host = {};  // a list such as "2(x3),1", instead of local_size
  Words in_code = {};  // a Python program that contains one of these is meant for this launcher
  bool of_manager = false;           // a resource manager's, which may start other launchers
  bool set_by_managers_too = false;  // a manager sets them for its own ranks
};

// What MPI prints when it ends a rank, with the exit code between `before` and `after`.
struct AbortMessage {
  std::string_view begins = {};  // the code follows this; empty: it may be anywhere
  std::string_view before;
  std::string_view after;
};

// How the output of ranks and of the engine says why a rank ended.
struct Messages {
  Words cut_off = {};  // on the stderr of a rank that lost its connection to another rank
  std::vector<AbortMessage> aborts = {};
  Words last_lines = {};           // begin a line of a rank that is about to end
  std::string_view error = {};     // in the first line of a report on an error that ends a rank
  std::string_view reporter = {};  // in the same report, before "JOB,RANK]"
};

// Flags of the engine's own command line, which users may pass to muster out of habit.
struct Flags {
  std::string_view names;  // separated by blanks
  int values = 0;          // how many words follow each
  bool passed_on =
      false;  // muster chooses the engine and passes the flag on; else it only says how
};

struct Kind {
  std::string_view word = {};  // in --engine and in JSON
  std::string_view name = {};  // for people; a version may follow
  Words launchers = {};  // file names of the program that starts the ranks, the usual one first
  HostsBy hosts_by = HostsBy::kSsh;

  // An MPI has the same launcher at the same path on all hosts. Its daemons connect to the machine
  // that muster runs on, and programs must be linked to a library that fits.
  bool is_mpi = false;
  // Beside an MPI's launcher: the program that it starts on other hosts. The first that is there.
  Words daemons = {};
  // It starts ranks of every MPI with the same `pmi`; otherwise only of its own major version.
  bool fits_all_versions = false;
  std::string_view pmi = {};       // of an MPI: how its ranks meet a manager that starts them
  std::string_view pmi_flag = {};  // of a manager that starts the ranks of any MPI: takes a `pmi`

  bool comes_with_pytorch = false;  // each host has its own, and its version is PyTorch's
  bool restarts_ranks = false;      // always restarts ranks itself, so muster does not
  bool is_elastic = false;          // with --nnodes MIN:MAX restarts and continues by itself
  // The value of its rendezvous flag that opens a port to everybody; empty: it has none.
  std::string_view open_rendezvous = {};

  std::string_view package = {};         // on PyPI
  std::string_view before_install = {};  // what to try before the package is installed
  // The library that its libmpi opens by this name when MPI starts, and the variable that names
  // another one; empty: none.
  std::string_view opens_library = {};
  std::string_view library_variable = {};
  std::string_view network_flag = {};  // restricts it to a subnet; without it, it may hang
  std::string_view no_ipv6 = {};       // why it cannot start ranks over IPv6; empty: it can
  int ipv6_hosts_since = 0;  // major version that takes hosts listed by their IPv6 addresses

  const RankVariables* ranks = nullptr;  // null: torch's own (RANK, WORLD_SIZE, ...)
  Words variables = {};  // how the names of the variables begin that it sets for ranks
  Words processes = {};  // names of its processes, cut off after 15 letters as the kernel does
  Messages messages = {};
  std::vector<Flags> flags = {};
};

// The MPIs that src/facts recognises by their files.
inline constexpr const char* kOpenMpi = "openmpi";
inline constexpr const char* kMpich = "mpich";
inline constexpr const char* kIntel = "intel";

// In the order in which --help lists them.
[[nodiscard]] const std::vector<Kind>& all();

// A row with nothing set where no engine has this word.
[[nodiscard]] const Kind& find(std::string_view word);

// The first engine whose hosts are reached in this way.
[[nodiscard]] const Kind& reached_by(HostsBy way);

// The first engine that comes with PyTorch and whose hosts are reached in this way.
[[nodiscard]] const Kind& with_pytorch(HostsBy way);

// Without repetitions, in the order of all().
[[nodiscard]] std::vector<const RankVariables*> rank_variables();

// File names of the launchers of all MPIs, without repetitions.
[[nodiscard]] Words mpi_launchers();

// For people: "Open MPI 5.0.11". An unknown word is its own name.
[[nodiscard]] std::string name_of(std::string_view word, std::string_view version = {});

}  // namespace muster::engines
