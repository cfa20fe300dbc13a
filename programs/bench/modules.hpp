// Loads the module of a backend on demand.
#pragma once

#include <memory>
#include <string>

#include "programs/bench/fabric.hpp"
#include "programs/bench/training.hpp"

namespace muster::programs::bench {

// Returns why this backend cannot be made, as far as this rank alone can tell, or "" if it can.
[[nodiscard]] std::string missing_here(const std::string& backend, const World& world);

// Collective. If the backend cannot be made, throws an error that says what is missing and what to
// do. `wait_s`: see FabricRequest.
[[nodiscard]] std::unique_ptr<Fabric> make_fabric(const std::string& backend, const World& world,
                                                  int wait_s = 0);

// For a rank without PyTorch: takes part in initialising MPI, which the other ranks do in
// make_fabric("mpi"). Without this call, they would wait for this rank.
void begin_mpi_without_torch();

[[nodiscard]] Training train(const TrainingRequest& request, const TellProgress& tell);

}  // namespace muster::programs::bench
