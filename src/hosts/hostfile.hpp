// Host files in the dialects that people bring.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

enum class Dialect {
  kBare,     // a host a line; a repeated line is one slot more (PBS)
  kOpenMpi,  // node1 slots=4 max_slots=8; DeepSpeed's too
  kHydra,    // node1:4; MPICH and Intel MPI
  kSlurm,    // node[01-16],launcher
};

struct Hostfile {
  std::vector<Host> hosts;  // in the order of first appearance, no name twice, at least one
  Dialect dialect = Dialect::kBare;
};

// Refuses a file that mixes dialects; bare lines go with any. max_slots is checked and not kept.
[[nodiscard]] Result<Hostfile> parse_hostfile(const Source& source);

// The file that says the same in `dialect`. Two dialects cannot say all: bare has no line for "one
// slot" other than that for "not said", and Slurm's ranges name hosts only (srun is told the slots
// by --ntasks-per-node). An Error when a bare file would have more than kMaxHosts lines.
[[nodiscard]] Result<std::string> to_hostfile(const std::vector<Host>& hosts, Dialect dialect);

}  // namespace muster::hosts
