// Job: what to run. Contains only what the user said; conclusions from it are in Layout.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::layout {

struct Job {
  std::vector<std::string> program;  // with its arguments; empty for `check` without a program
  // The word by which the Python program mentions MPI; empty if it does not.
  std::string mpi_word = {};
  std::string folder = {};  // directory in which it starts on every host
  int ranks_per_host = 0;   // 0: the host's slots, or else 1
  // "gpu" or "cpu": one rank per GPU or CPU of the host. "auto": per GPU, or per CPU if the host
  // has no GPU. Empty: `ranks_per_host` applies.
  std::string ranks_by = {};
  int ranks = 0;      // in total; 0: as many as fit on the hosts
  int nodes = 0;      // how many hosts to use; 0: all
  int min_nodes = 0;  // the job continues with this many; 0: it needs all
  // The number of hosts was given as torchrun's MIN:MAX, which torchrun handles itself.
  bool elastic = false;
  int max_restarts = 0;     // restarts of the whole job
  int attempt = 0;          // how many times the job was started before
  std::string engine = {};  // engines::Kind::word; empty: muster chooses
  // The reason for `engine`, if it follows from the place where muster runs.
  std::string engine_why = {};
  // If muster runs in a pod: the number of pods, each of which runs its own muster. Otherwise 0.
  int pods = 0;
  int pod = 0;                // number of this pod
  std::string launcher = {};  // absolute path of mpirun on the launcher
  std::string activate = {};
  std::vector<std::string> env = {};  // names of variables for the ranks
  // The values of all variables in `env`, some of which may be secret. If the user gave a variable
  // with a value (-x NAME=VALUE), our own environment does not contain it.
  std::map<std::string, std::string> env_values = {};
  // Names of variables for the ranks' libraries that muster does not pass on.
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
