// The PyTorch that a host's programs would find.
#pragma once

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// Looks at files only: importing torch takes seconds.
[[nodiscard]] Torch read_torch(const Variables& environment, const Cpu& cpu);

// "2.13.0+cpu" out of torch/version.py; empty: it does not tell.
[[nodiscard]] std::string torch_version(std::string_view version_py);

}  // namespace muster::facts
