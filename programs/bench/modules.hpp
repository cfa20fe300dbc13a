// Loads the module that a backend needs, when it is needed.
#pragma once

#include <memory>
#include <string>

#include "programs/bench/fabric.hpp"
#include "programs/bench/training.hpp"

namespace muster::programs::bench {

// Why this backend cannot be made, as far as that shows on this rank alone; empty: it can.
[[nodiscard]] std::string missing_here(const std::string& backend, const World& world);

// Collective. Throws what is missing and what to do. `wait_s`: see FabricRequest.
[[nodiscard]] std::unique_ptr<Fabric> make_fabric(const std::string& backend, const World& world,
                                                  int wait_s = 0);

// On a rank without PyTorch, the part that it has in other ranks' make_fabric("mpi"): they would
// wait for it. Collective with that.
void begin_mpi_without_torch();

[[nodiscard]] Training train(const TrainingRequest& request, const TellProgress& tell);

}  // namespace muster::programs::bench
