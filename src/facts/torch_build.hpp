// What a PyTorch was built for, and the libraries by which it talks between GPUs. Looks at files
// only.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// Fills in the part of facts.torch that is about GPUs. NCCL's libraries are large, so they are
// looked at on hosts with GPUs only.
void read_torch_build(const Variables& environment, Facts& facts);

// "2.21.5" out of a nccl.h or rccl.h; empty: it does not tell.
[[nodiscard]] std::string nccl_version_in_header(std::string_view header);

// "2.21.5" out of the constants of libnccl or librccl ("NCCL version 2.21.5+cuda12.4"), "1.13.2"
// out of those of the plugin ("aws-ofi-nccl 1.13.2"). Empty: they do not tell.
[[nodiscard]] std::string version_behind(std::string_view constants, std::string_view words_before);

}  // namespace muster::facts
