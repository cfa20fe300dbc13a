// Chooses what starts the job: one of the launcher's MPIs, torchrun or Slurm.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "facts/facts.hpp"
#include "layout/job.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

// "5.0.11" as numbers. Missing parts, and parts that are not numbers, are 0.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
};
[[nodiscard]] Version parse_version(std::string_view text);

// Whether the mpirun of one of these two MPIs can start ranks that are linked to the other one.
[[nodiscard]] bool speak_the_same(std::string_view kind, std::string_view version,
                                  std::string_view other_kind, std::string_view other_version);

struct EngineChoice {
  Engine engine;  // `kind` is empty if no engine was found
  std::string why;
};
[[nodiscard]] EngineChoice choose_engine(const Job& job, std::span<const facts::Facts* const> hosts,
                                         const facts::Facts& launcher);

}  // namespace muster::layout
