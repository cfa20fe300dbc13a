// The port on which rank 0 listens.
#pragma once

#include <span>

#include "facts/facts.hpp"

namespace muster::layout {

constexpr int kUsualMasterPort = 29500;  // PyTorch's default
constexpr int kLastPort = 65535;

// A port that is free on `first` (null: unknown) and that no host uses for outgoing connections.
// Tries ports upward from 29500 (one higher for each earlier attempt), then downward from below the
// hosts' range, but never a privileged one. Returns 0 if there is none. Cost: linear in hosts and
// in ports.
[[nodiscard]] int choose_master_port(const facts::Facts* first,
                                     std::span<const facts::Facts* const> hosts, int attempt = 0);

[[nodiscard]] bool is_outgoing_port(const facts::Facts& host, int port);

}  // namespace muster::layout
