// The PyTorch that a host's programs would find.
#pragma once

#include <chrono>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// The torch beside the torchrun in PATH. Looks at files only: importing torch takes seconds.
[[nodiscard]] Torch read_torch(const Variables& environment, const Cpu& cpu);

// The version of the torch that this Python would import, also through .pth files and PYTHONPATH;
// empty: none. Asks the interpreter where torch is, without importing it.
[[nodiscard]] Result<std::string> torch_of(const std::string& python, const Variables& environment,
                                           std::chrono::milliseconds deadline);

// "2.13.0+cpu" out of torch/version.py; empty: it does not tell.
[[nodiscard]] std::string torch_version(std::string_view version_py);

}  // namespace muster::facts
