// The hardware that hosts show: how it is put on a host's disk, broken while the host runs, and
// repaired.
#pragma once

#include <string>

#include "base/error.hpp"
#include "lab/damage.hpp"
#include "lab/hardware.hpp"
#include "lab/plan.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// What `up` writes to the disk of a host.
[[nodiscard]] HardwareFiles healthy_files(const Spec& spec, int host);

// Called by the first process of a host. Creates the files in /dev, and starts the fabric manager
// as a child of the calling process, which reaps it.
[[nodiscard]] Result<void> boot_hardware(const Spec& spec, int host);

[[nodiscard]] Result<void> damage_host(const Spec& spec, int host, const Damage& damage,
                                       const std::string& argument);

// Undoes all damage, on a running host or on the disk of a host that is down.
[[nodiscard]] Result<void> mend_hardware(const Spec& spec, int host);

}  // namespace muster::lab
