// The port on which rank 0 listens.
#pragma once

#include <span>

#include "facts/facts.hpp"

namespace muster::layout {

constexpr int kUsualMasterPort = 29500;  // torch's own
constexpr int kLastPort = 65535;

// Free on `first` (null: nothing is known of it) and outside the range from which any of the hosts
// takes ports for outgoing connections: from 29500 upward (one
// further for each attempt before this one), then from below the range downward, and
// never a privileged one. 0: there is none. Cost: linear in hosts and in ports.
[[nodiscard]] int choose_master_port(const facts::Facts* first,
                                     std::span<const facts::Facts* const> hosts, int attempt = 0);

[[nodiscard]] bool is_outgoing_port(const facts::Facts& host, int port);

}  // namespace muster::layout
