// The descriptors of this process.
#pragma once

namespace muster::agent {

// A missing 0, 1 or 2 would be taken by the next file opened: /dev/null goes there, close-on-exec,
// so that a program finds it missing still.
void keep_standard_descriptors();

// Standard input becomes /dev/null.
void read_nothing();

// Closes every descriptor above 2 that is not close-on-exec, that is: every one that was inherited
// and not made here. If the program closes such a descriptor, our copy must not keep it open.
void close_inherited();

}  // namespace muster::agent
