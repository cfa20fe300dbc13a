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

struct Rdma {
  std::string device;  // "mlx5_0"
  int port = 1;
  int gid_index = -1;    // -1: native InfiniBand needs none
  int active_ports = 1;  // of the host; if there are several, NCCL chooses
};

struct Placement {
  std::string host;
  int first_rank = 0;
  int ranks = 0;
  std::string interface = {};  // the one in the job's subnet
  std::string address = {};    // its address
  std::optional<Rdma> rdma = std::nullopt;
  bool here = false;  // as hosts::Host::here
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
  bool rdma_given_up = false;         // some hosts have it and others cannot use it
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
