// The descriptors of this process.
#pragma once

namespace muster::agent {

// A missing 0, 1 or 2 would be taken by the next file opened: /dev/null goes there, close-on-exec,
// so that a program finds it missing still.
void keep_standard_descriptors();

// Closes every descriptor above 2 that is not close-on-exec, that is: every one that was inherited
// and not made here. The engine must see the end of its sockets when the program ends. Not that of
// PMI_FD: hydra kills all ranks as soon as it ends, and this one's end is to be recorded first.
void close_inherited();

// Closes all but this one.
void close_all_but(int kept);

}  // namespace muster::agent
