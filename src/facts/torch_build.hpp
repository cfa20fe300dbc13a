// Finds out for which GPUs a PyTorch was built, and which libraries it uses for communication
// between GPUs. Examines only files.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// Fills in the part of facts.torch that is about GPUs. NCCL's libraries are large, so they are only
// examined on hosts with GPUs.
void read_torch_build(const Variables& environment, Facts& facts);

// Returns "2.21.5" from the text of nccl.h or rccl.h; empty if it contains no version.
[[nodiscard]] std::string nccl_version_in_header(std::string_view header);

// Returns the version that follows `words_before` in the constants of a library: "2.21.5" for "NCCL
// version 2.21.5+cuda12.4" in libnccl, "1.13.2" for "aws-ofi-nccl 1.13.2" in its libfabric plugin.
// Empty if there is no version.
[[nodiscard]] std::string version_behind(std::string_view constants, std::string_view words_before);

}  // namespace muster::facts
