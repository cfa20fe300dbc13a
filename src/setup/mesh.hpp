// --host-to-host: every host reaches every other one, for launchers that start processes in a tree.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "setup/launcher.hpp"
#include "setup/login.hpp"

namespace muster::setup {

// Of each host's addresses those that name it alone: a docker0 has the same address everywhere.
// What is no address is left out. Pure.
[[nodiscard]] std::vector<std::vector<std::string>> own_addresses(
    std::span<const std::vector<std::string>> reported);

// The line of a pinned known_hosts file ("n1 ssh-ed25519 AAAA..." or "[n1]:2222 ...") for other
// names, as lines "name known_hosts-line". Empty when the file is not as ssh writes it. Pure.
[[nodiscard]] std::string pins_for(std::string_view known_hosts,
                                   std::span<const std::string> names);

// How far apart the pairs of each round are: in round r every host reaches the one `r` places on,
// so that each is called once at a time. All n-1 rounds up to 64 hosts, above that a sample. Pure.
[[nodiscard]] std::vector<std::size_t> mesh_rounds(std::size_t hosts);

// The hosts reach each other under one user and port: an error where they differ. Pure.
[[nodiscard]] Result<void> check_mesh(std::span<const Entry> entries);

struct MeshResult {
  std::vector<Visit> visits;  // what was changed on each host; an error where it reaches not all
  std::string note;           // what was checked
};

// For hosts that are set up. Cost: three sessions a host and one for each checked pair.
[[nodiscard]] Result<MeshResult> connect_mesh(Launcher& launcher, std::span<const Entry> entries);

}  // namespace muster::setup
