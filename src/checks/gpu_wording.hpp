// How findings name GPUs, and which GPUs they are about.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checks/participant.hpp"

namespace muster::checks {

// Returns the GPUs of a host that its ranks can use. Cost: linear in the host's GPUs.
[[nodiscard]] std::vector<const facts::Gpu*> gpus_of_ranks(const Scene& scene,
                                                           const Participant& host);

// Returns "GPU 3 (0000:61:00.0)".
[[nodiscard]] std::string gpu_name(const facts::Gpu& gpu);

// Returns "GPU 3 (0000:61:00.0): 2 errors; GPU 5 (0000:c3:00.0): 1 error", leaving out GPUs for
// which `say` returns an empty text. If it returns the same for all GPUs and there are more than
// two, returns "all 8 GPUs: ...".
[[nodiscard]] std::string gpus_text(const std::vector<const facts::Gpu*>& gpus,
                                    const std::function<std::string(const facts::Gpu&)>& say);

// Whether the user asked for GPUs, so that an unusable GPU makes the job fail.
[[nodiscard]] bool wants_gpus(const Scene& scene);

// The severity of a problem that makes every program that uses a GPU fail: an error if the user
// asked for GPUs, otherwise a warning.
[[nodiscard]] Severity severity_without_gpus(const Scene& scene);

}  // namespace muster::checks
