// Layout: what muster decided for all engines alike, and why. A pure function makes it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "hosts/cluster.hpp"
#include "layout/job.hpp"

namespace muster::layout {

// Binds each rank to the CPUs near its GPU. The rank's process does this, not the engine.
inline constexpr const char* kBindToGpu = "gpu";

// A kind of network for RDMA. Two hosts can use it only if both have it.
enum class Fabric { kNone, kEfa, kInfiniband, kRoceIpv4, kRoceIpv6 };

// A port of a host that carries the job's traffic.
struct Rail {
  std::string device;  // "mlx5_0"
  int port = 1;
  std::string rate = {};       // like facts::RdmaPort::rate
  std::string interface = {};  // network device of the same port; empty: unknown
  int gid_index = -1;          // for RoCE; -1: the fabric needs none
  std::string address = {};    // for RoCE: the address in the GID
  // The subnet of `address` for RoCE, the prefix of the GID for InfiniBand; empty if unknown.
  std::string network = {};
};

struct Placement {
  std::string host;
  int first_rank = 0;
  int ranks = 0;
  std::string interface = {};                         // in the job's subnet
  std::string address = {};                           // of this interface
  std::vector<Rail> rails = {};                       // empty: the job uses TCP
  std::map<std::string, std::string> variables = {};  // for the rails; the host's ranks get them
  bool here = false;                                  // see hosts::Host::here
};

struct Engine {
  std::string kind;     // like Job::engine
  std::string version;  // "5.0.11"
  int major = 0;
  std::string launcher;  // absolute path on this machine
  // Set only for a resource manager, which can start the ranks of any MPI. `mpi` is the program's
  // MPI, like facts::Mpi::kind (empty: unknown). `pmi` is the interface between the ranks and the
  // manager: "pmix", "pmi2", or empty for the site's default.
  std::string mpi = {};
  std::string pmi = {};
};

struct Layout {
  Engine engine;                      // `kind` is empty if no engine was found
  std::vector<Placement> placements;  // hosts that take part, in the cluster's order
  int ranks = 0;
  int min_hosts = 0;        // if less than all, torchrun continues with this many
  int max_restarts = 0;     // restarts of all ranks, made by the engine and not by muster
  std::string subnet = {};  // "198.18.0.0/16"; empty: the hosts have no subnet in common
  // The network through which the launcher reaches the hosts, if it differs from `subnet`.
  std::string launcher_subnet = {};
  std::string launcher_interface = {};  // the launcher's interface in that network; empty: none
  std::string launcher_address = {};    // address of that interface
  std::string master_address = {};
  int master_port = 0;
  int threads = 1;           // OMP_NUM_THREADS
  std::string bind_to = {};  // kBindToGpu, or a setting of the engine
  std::string map_by = {};
  Fabric fabric = Fabric::kNone;      // the fabric to which the rails belong
  bool rdma_given_up = false;         // some host has RDMA, but not all share a fabric
  bool oversubscribed = false;        // some host has more ranks than usable CPUs
  std::vector<std::string> why = {};  // one sentence per decision, for people
};

// Returns the layout as JSON, but without min_hosts and max_restarts, which only matter for
// starting the engine.
[[nodiscard]] std::string to_json(const Layout& layout);  // one line
[[nodiscard]] Result<Layout> parse_layout(const std::string& json);

// Facts never make this fail: what cannot be decided stays empty, and the checks report it. Fails
// only if the request makes no sense (more ranks than slots, an impossible number of hosts).
// `launcher` is this machine. Hosts without Facts get ranks but no address.
[[nodiscard]] Result<Layout> decide(const Job& job, const hosts::Cluster& cluster,
                                    std::span<const facts::Survey> surveys,
                                    const facts::Facts& launcher);

}  // namespace muster::layout
