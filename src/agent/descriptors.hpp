// The file descriptors of this process.
#pragma once

namespace muster::agent {

// Opens /dev/null in place of a missing descriptor 0, 1 or 2, since the next opened file would take
// that number. It is close-on-exec, so that the program still finds the descriptor missing.
void keep_standard_descriptors();

// Makes /dev/null the standard input.
void read_nothing();

// Closes every inherited descriptor above 2, because our copy would keep it open after the program
// has closed its own. A descriptor counts as inherited if it is not close-on-exec, because muster's
// own all are.
void close_inherited();

}  // namespace muster::agent
