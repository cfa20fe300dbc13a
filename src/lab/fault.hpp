// What can happen to a host or to its cable, done on purpose.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "lab/shape.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// Frames vanish both ways; the host sees no loss of carrier, as behind a dead switch.
[[nodiscard]] Result<void> cut(const Spec& spec, int host);

// Undoes `cut`, and whatever `break` has done to the hardware.
[[nodiscard]] Result<void> mend(const Spec& spec, int host);

// All processes die at once; the kernel still closes their connections, so peers are told.
[[nodiscard]] Result<void> kill(const Spec& spec, int host);

// Power loss: the same, and no packet leaves any more, so nobody is told.
[[nodiscard]] Result<void> crash(const Spec& spec, int host);

// Ends the host if it is up and starts it again with the same disk, unshaped and connected.
[[nodiscard]] Result<void> restart(const Spec& spec, int host);

// Gives the cable of one network a shape; a default Shape gives it back as it was. With a peer,
// only frames to and from that host are lost or dropped.
[[nodiscard]] Result<void> link(const Spec& spec, int host, int nic, const Shape& wanted,
                                std::optional<int> lossy_peer);

}  // namespace muster::lab
