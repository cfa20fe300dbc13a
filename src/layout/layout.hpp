// Layout: what was decided, once, for every engine, and why. Made by a pure function.
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

// Each rank to the CPUs near its GPU. The rank itself does it, not the engine.
inline constexpr const char* kBindToGpu = "gpu";

// A kind of network for RDMA. Two hosts can use it only if both have it.
enum class Fabric { kNone, kEfa, kInfiniband, kRoceIpv4, kRoceIpv6 };

// A port of a host that carries the job's traffic.
struct Rail {
  std::string device;  // "mlx5_0"
  int port = 1;
  std::string rate = {};       // as facts::RdmaPort::rate
  std::string interface = {};  // the network device of the same port; empty: not known
  int gid_index = -1;          // of RoCE; -1: the fabric needs none
  std::string address = {};    // of RoCE: that of the GID
  std::string network = {};    // RoCE: its subnet; InfiniBand: the GID's prefix; empty: not known
};

struct Placement {
  std::string host;
  int first_rank = 0;
  int ranks = 0;
  std::string interface = {};                         // the one in the job's subnet
  std::string address = {};                           // its address
  std::vector<Rail> rails = {};                       // empty: the job uses TCP
  std::map<std::string, std::string> variables = {};  // about the rails, for the host's ranks
  bool here = false;                                  // as hosts::Host::here
};

struct Engine {
  std::string kind;     // as Job::engine
  std::string version;  // "5.0.11"
  int major = 0;
  std::string launcher;  // absolute path here
  // Only of a manager, which starts the ranks of any MPI: the program's, as facts::Mpi::kind
  // (empty: no known one), and how the two meet: "pmix", "pmi2"; empty: the site's default.
  std::string mpi = {};
  std::string pmi = {};
};

struct Layout {
  Engine engine;                      // kind empty: none was found
  std::vector<Placement> placements;  // in the cluster's order, only hosts that take part
  int ranks = 0;
  int min_hosts = 0;                 // fewer than all: torchrun goes on with so many
  int max_restarts = 0;              // of all ranks, by torchrun itself and not by muster
  std::string subnet = {};           // "198.18.0.0/16"; empty: there is no common one
  std::string launcher_subnet = {};  // where the launcher meets the hosts when that is another one
  std::string launcher_interface = {};  // the launcher's own there; empty: it has none
  std::string launcher_address = {};    // its address
  std::string master_address = {};
  int master_port = 0;
  int threads = 1;           // OMP_NUM_THREADS
  std::string bind_to = {};  // kBindToGpu, or in the engine's words
  std::string map_by = {};
  Fabric fabric = Fabric::kNone;      // of the rails
  bool rdma_given_up = false;         // some hosts have RDMA, but all hosts share no fabric
  bool oversubscribed = false;        // more ranks than usable CPUs on some host
  std::vector<std::string> why = {};  // one sentence a decision, for people
};

// Without min_hosts and max_restarts, which say how the engine is started.
[[nodiscard]] std::string to_json(const Layout& layout);  // one line
[[nodiscard]] Result<Layout> parse_layout(const std::string& json);

// Never fails for what the facts say: what could not be decided is empty, and the checks say so.
// An Error is a request that makes no sense (more ranks than slots, an unknown host count).
// `launcher` is this machine. Hosts without Facts get their ranks and no address.
[[nodiscard]] Result<Layout> decide(const Job& job, const hosts::Cluster& cluster,
                                    std::span<const facts::Survey> surveys,
                                    const facts::Facts& launcher);

}  // namespace muster::layout
