// How findings name GPUs, and which GPUs they are about.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checks/participant.hpp"

namespace muster::checks {

// The GPUs of a host that its ranks can use. Cost: linear in the host's GPUs.
[[nodiscard]] std::vector<const facts::Gpu*> gpus_of_ranks(const Scene& scene,
                                                           const Participant& host);

// "GPU 3 (0000:61:00.0)".
[[nodiscard]] std::string gpu_name(const facts::Gpu& gpu);

// "GPU 3 (0000:61:00.0): 2 errors; GPU 5 (0000:c3:00.0): 1 error", of the GPUs about which `say`
// says something. "all 8 GPUs: ..." if it says the same of more than two. Empty: about none.
[[nodiscard]] std::string gpus_text(const std::vector<const facts::Gpu*>& gpus,
                                    const std::function<std::string(const facts::Gpu&)>& say);

// Whether the user asked for ranks on GPUs, so that a GPU that cannot be used makes the job fail.
[[nodiscard]] bool wants_gpus(const Scene& scene);

// For what makes every program fail that uses a GPU.
[[nodiscard]] Severity severity_without_gpus(const Scene& scene);

}  // namespace muster::checks
