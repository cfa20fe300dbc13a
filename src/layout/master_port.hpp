// The port on which rank 0 listens.
#pragma once

#include <span>

#include "facts/facts.hpp"

namespace muster::layout {

constexpr int kUsualMasterPort = 29500;  // PyTorch's default
constexpr int kLastPort = 65535;

// Returns a port that is free on `first` (null: unknown) and that no host uses for outgoing
// connections. Tries ports upward from 29500 as far as the next port for outgoing connections, then
// downward from 29499, but never a privileged one. Each earlier attempt raises the start by 1, up
// to 29515 and then from 29500 again. Returns 0 if there is no such port. Cost: linear in hosts and
// in ports.
[[nodiscard]] int choose_master_port(const facts::Facts* first,
                                     std::span<const facts::Facts* const> hosts, int attempt = 0);

[[nodiscard]] bool is_outgoing_port(const facts::Facts& host, int port);

}  // namespace muster::layout
