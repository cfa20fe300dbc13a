// Waiting for the first pod of the job that this pod belongs to.
#pragma once

#include <chrono>
#include <optional>

#include "cli/job_options.hpp"

namespace muster::cli {

// A cluster's DNS may know the first pod's name only after the other pods have started, and
// libraries take an unknown name for an error. As long as torchrun would wait for the first pod.
constexpr std::chrono::seconds kFirstPodTakes{600};

// Returns once the first pod's name resolves, and at once outside of pods. The signal (SIGINT,
// SIGTERM, SIGHUP) that ended the wait, or nothing; an Error after `patience`.
[[nodiscard]] Result<std::optional<int>> wait_for_first_pod(
    const JobOptions& options, std::chrono::seconds patience = kFirstPodTakes);

}  // namespace muster::cli
