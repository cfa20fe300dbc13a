// Job: what to run. Contains only what the user said; conclusions from it are in Layout.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::layout {

struct Job {
  std::vector<std::string> program;  // with its arguments; empty for `check` without a program
  std::string mpi_word = {};         // by which a Python program mentions MPI; empty: none
  std::string folder = {};           // directory in which it starts on every host
  int ranks_per_host = 0;            // 0: the host's slots, or else 1
  std::string ranks_by = {};         // or one rank per "gpu" or "cpu"; "auto": GPUs, or else CPUs
  int ranks = 0;                     // in total; 0: as many as fit on the hosts
  int nodes = 0;                     // how many hosts to use; 0: all
  int min_nodes = 0;                 // the job continues with this many; 0: it needs all
  bool elastic = false;              // as torchrun's MIN:MAX, which torchrun handles itself
  int max_restarts = 0;              // restarts of the whole job
  int attempt = 0;                   // how often it has been started before
  std::string engine = {};           // engines::Kind::word; empty: muster chooses
  std::string engine_why = {};       // reason, if the place where muster runs decides the engine
  // If muster runs in a pod: the number of pods, each of which runs its own muster. Otherwise 0.
  int pods = 0;
  int pod = 0;                // number of this pod
  std::string launcher = {};  // absolute path of mpirun on the launcher
  std::string activate = {};
  std::vector<std::string> env = {};  // names of variables for the ranks
  // The values of all these variables, some of which may be secret. They are for the ranks. Those
  // that were given with a value are not in our environment.
  std::map<std::string, std::string> env_values = {};
  // Names of variables for libraries of the ranks that are not passed on.
  std::vector<std::string> env_left = {};
  std::string master_address = {};  // empty: muster chooses
  int master_port = 0;              // 0: muster chooses
  // The user's setting for the engine; empty: muster chooses.
  std::string bind_to = {};
  std::string map_by = {};
  int threads = 0;  // OMP_NUM_THREADS; 0: muster chooses
  std::vector<std::string> engine_args = {};
  bool synced = false;         // --sync has copied the directory to the hosts
  bool confine_store = false;  // PyTorch's store listens only at the master address
  bool oversubscribe = false;  // the user wants more ranks than slots
};

}  // namespace muster::layout
