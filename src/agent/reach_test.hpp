// Tests before the job starts whether this host and the others of the job can connect to each
// other.
#pragma once

#include "agent/channel.hpp"
#include "agent/protocol.hpp"

namespace muster::agent {

// Listens as ordered, reports the ports, connects to the targets that the launcher names, and
// reports the results. Returns and stops listening when the launcher sends `close` or disconnects,
// and after a deadline.
void test_reach(Channel& launcher, const Order& listen);

}  // namespace muster::agent
