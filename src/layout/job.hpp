// Job: what is to run. Only what the user said; what follows from it is Layout's.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::layout {

struct Job {
  std::vector<std::string> program;  // and its arguments; empty for `check` without one
  std::string mpi_word = {};         // with which a Python program mentions MPI; empty: none
  std::string folder = {};           // where it starts on every host
  int ranks_per_host = 0;            // 0: the host's slots, else 1
  std::string ranks_by = {};         // or a host's "gpu"s or "cpu"s; "auto": GPUs, else CPUs
  int ranks = 0;                     // in all; 0: what the hosts give
  int nodes = 0;                     // how many of the hosts; 0: all
  int min_nodes = 0;                 // it goes on with so many; 0: it needs all
  bool elastic = false;              // as torchrun's MIN:MAX, which torchrun sees to itself
  int max_restarts = 0;              // of all ranks
  int attempt = 0;                   // how often it was started before
  std::string engine = {};           // as engines::Kind::word; empty: chosen
  std::string engine_why = {};       // where not the user named it but where we are
  int pods = 0;  // we are in one of so many pods, each of which runs its own muster; 0: in none
  int pod = 0;   // which
  std::string launcher = {};  // absolute path of the engine's mpirun on the launcher
  std::string activate = {};
  std::vector<std::string> env = {};  // names of variables to hand to the ranks
  // By name, of all of them; some may be secret. They are for the ranks, and not in our environment
  // where they were given with a value.
  std::map<std::string, std::string> env_values = {};
  std::vector<std::string> env_left = {};  // names of the ranks' libraries that are not handed over
  std::string master_address = {};         // empty: chosen
  int master_port = 0;                     // 0: chosen
  std::string bind_to = {};                // the user's own words for the engine; empty: ours
  std::string map_by = {};
  int threads = 0;  // OMP_NUM_THREADS; 0: chosen
  std::vector<std::string> engine_args = {};
  bool synced = false;         // the hosts got the files of the folder, see --sync
  bool confine_store = false;  // PyTorch's store listens at the master address only
  bool oversubscribe = false;  // more ranks than slots are wanted
};

}  // namespace muster::layout
