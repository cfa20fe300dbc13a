// Faults of a host or its cable that users can cause on purpose.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "lab/shape.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// Drops all frames in both directions. The host's interfaces still have a carrier, as if the switch
// had died.
[[nodiscard]] Result<void> cut(const Spec& spec, int host);

// Undoes `cut` and all damage that `break` has done to the hardware.
[[nodiscard]] Result<void> mend(const Spec& spec, int host);

// Kills all processes at once. The kernel still closes their connections, so peers notice.
[[nodiscard]] Result<void> kill(const Spec& spec, int host);

// Simulates a power failure: like `kill`, but drops all frames first, so that peers do not notice.
[[nodiscard]] Result<void> crash(const Spec& spec, int host);

// Ends the host if it is up, and starts it again with the same disk, unshaped and connected.
[[nodiscard]] Result<void> restart(const Spec& spec, int host);

// Gives the cable of one network this shape. A default Shape restores the cable. With a peer, only
// frames to and from that host are lost or dropped.
[[nodiscard]] Result<void> link(const Spec& spec, int host, int nic, const Shape& wanted,
                                std::optional<int> lossy_peer);

}  // namespace muster::lab
