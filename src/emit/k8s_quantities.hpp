// Amounts of CPU, memory and devices in the notation of Kubernetes. Pure.
#pragma once

#include <string_view>

#include "emit/k8s_values.hpp"

namespace muster::emit {

// Accepts CPUs: 4, 0.5 or 500m.
[[nodiscard]] Refusal refuse_cpu(std::string_view text);
// Accepts bytes: 16Gi, 512Mi or 1.5G.
[[nodiscard]] Refusal refuse_bytes(std::string_view text);
// Accepts a whole number of devices.
[[nodiscard]] Refusal refuse_device_count(std::string_view text);

// Returns the number of bytes that the text means. refuse_bytes must have accepted it.
[[nodiscard]] double bytes_of(std::string_view text);

}  // namespace muster::emit
