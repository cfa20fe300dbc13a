// Libraries that programs open by name while they run, so that no loader lists them: those of
// PyTorch, and plugins of MPI, UCX, libfabric, NCCL and cuDNN.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "facts/libraries.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// Returns the paths of the libraries that `import torch` opens if torch is in this folder. The
// loader finds torch's other libraries as dependencies of these.
[[nodiscard]] std::vector<std::string> opened_by_torch(const std::string& torch_folder);

// Returns the paths of the plugins that the loaded libraries would look for and open. Cost: lists a
// few folders.
[[nodiscard]] std::vector<std::string> plugins_of(std::span<const LoadedLibrary> loaded,
                                                  const Variables& environment);

}  // namespace muster::facts
