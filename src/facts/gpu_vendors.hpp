// Reads the GPUs of each vendor, in the way that the vendor's driver requires.
#pragma once

#include "facts/gpus.hpp"

namespace muster::facts {

void read_nvidia_gpus(const GpuSources& sources, GpuReport& report);
void read_amd_gpus(const GpuSources& sources, GpuReport& report);
void read_intel_gpus(const GpuSources& sources, GpuReport& report);

}  // namespace muster::facts
