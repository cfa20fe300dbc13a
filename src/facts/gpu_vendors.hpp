// The GPUs of each vendor, and the particularities of its driver.
#pragma once

#include "facts/gpus.hpp"

namespace muster::facts {

void read_nvidia_gpus(const GpuSources& sources, GpuReport& report);
void read_amd_gpus(const GpuSources& sources, GpuReport& report);
void read_intel_gpus(const GpuSources& sources, GpuReport& report);

}  // namespace muster::facts
