// Whether this host and the others of the job can connect to each other, before the job starts.
#pragma once

#include "agent/channel.hpp"
#include "agent/protocol.hpp"

namespace muster::agent {

// Listens as ordered, says where, connects where the launcher says and reports how that ended.
// Returns, and listens no more, when the launcher says `close` or is gone, and after a deadline.
void test_reach(Channel& launcher, const Order& listen);

}  // namespace muster::agent
