// Host files in the dialects of other launchers.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

enum class Dialect {
  kBare,     // one host per line; each repetition adds one slot (PBS)
  kOpenMpi,  // node1 slots=4 max_slots=8; also used by DeepSpeed
  kHydra,    // node1:4; MPICH and Intel MPI
  kSlurm,    // node[01-16],launcher
};

struct Hostfile {
  std::vector<Host> hosts;  // in the order of first appearance, without duplicates; at least one
  Dialect dialect = Dialect::kBare;
};

// Rejects a file that mixes dialects; bare lines fit into every dialect. Checks max_slots but does
// not return it.
[[nodiscard]] Result<Hostfile> parse_hostfile(const Source& source);

// Writes the hosts as a file in this dialect. Two dialects lose information: bare files have the
// same line for "one slot" and for "not given", and Slurm's ranges contain no slots (pass these to
// srun with --ntasks-per-node). Fails if a bare file would have more than kMaxHosts lines.
[[nodiscard]] Result<std::string> to_hostfile(const std::vector<Host>& hosts, Dialect dialect);

}  // namespace muster::hosts
