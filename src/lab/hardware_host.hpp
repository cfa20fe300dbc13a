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

// Starts what belongs to the hardware on hosts that have just come up: the fabric manager.
[[nodiscard]] Result<void> start_services(const Spec& spec, int host);

[[nodiscard]] Result<void> damage_host(const Spec& spec, int host, const Damage& damage,
                                       const std::string& argument);

// Undoes all damage: on a host that runs, or on the disk of one that does not.
[[nodiscard]] Result<void> mend_hardware(const Spec& spec, int host);

}  // namespace muster::lab
