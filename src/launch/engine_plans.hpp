// The functions that make the Plan of each engine. An engine has a file here that writes its
// command, and a line in the table. MPICH and Intel MPI share hydra.
#pragma once

#include <array>
#include <string_view>

#include "launch/plan.hpp"

namespace muster::launch {

using MakePlan = Result<Plan>(const layout::Job& job, const layout::Layout& layout,
                              const Means& means);

MakePlan plan_hydra;
MakePlan plan_openmpi;
MakePlan plan_slurm;
MakePlan plan_torchrun;

struct EnginePlan {
  std::string_view kind;  // like engines::Kind::word
  MakePlan* make;
};

inline constexpr std::array kEnginePlans = {
    EnginePlan{"openmpi", plan_openmpi}, EnginePlan{"mpich", plan_hydra},
    EnginePlan{"intel", plan_hydra},     EnginePlan{"torchrun", plan_torchrun},
    EnginePlan{"slurm", plan_slurm},     EnginePlan{"pods", plan_torchrun},
};

}  // namespace muster::launch
