// The hardware that hosts show: put on a host's disk, broken while the host runs, and mended.
#pragma once

#include <string>

#include "base/error.hpp"
#include "lab/damage.hpp"
#include "lab/hardware.hpp"
#include "lab/plan.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// What `up` puts on the disk of a host.
[[nodiscard]] HardwareFiles healthy_files(const Spec& spec, int host);

// For the first process of a host: makes the files in /dev and starts the fabric manager, as a
// child of that process, which reaps it.
[[nodiscard]] Result<void> boot_hardware(const Spec& spec, int host);

[[nodiscard]] Result<void> damage_host(const Spec& spec, int host, const Damage& damage,
                                       const std::string& argument);

// Undoes all damage: on a host that runs, or on the disk of one that does not.
[[nodiscard]] Result<void> mend_hardware(const Spec& spec, int host);

}  // namespace muster::lab
