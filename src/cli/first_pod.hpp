// Waits for the first pod of the job to which this pod belongs.
#pragma once

#include <chrono>
#include <optional>

#include "cli/job_options.hpp"

namespace muster::cli {

// A cluster's DNS may know the name of the first pod only after other pods have started, and
// libraries treat an unknown name as an error. torchrun would wait for the first pod just as long.
constexpr std::chrono::seconds kFirstPodTakes{600};

// Returns once the name of the first pod resolves, and at once outside of pods. Returns the signal
// (SIGINT, SIGTERM, SIGHUP) if one ended the wait. Fails after `patience`.
[[nodiscard]] Result<std::optional<int>> wait_for_first_pod(
    const JobOptions& options, std::chrono::seconds patience = kFirstPodTakes);

}  // namespace muster::cli
