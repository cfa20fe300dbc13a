// --host-to-host: every host reaches every other one, for launchers that start processes in a tree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "setup/launcher.hpp"
#include "setup/login.hpp"

namespace muster::setup {

// What hosts claim is checked before other hosts hear of it: a key must be one and nothing more,
// and an address counts only where a login from here, or through another host, meets the pinned
// key.

// "ssh-ed25519 AAAA..." without comment; nothing if the text is no such key. Pure.
[[nodiscard]] std::optional<std::string> plain_key(std::string_view text);

// The claims that are addresses, 16 at most. Pure.
[[nodiscard]] std::vector<std::string> plausible_addresses(std::span<const std::string> claimed);

// Of each host's addresses those that name it alone: hosts made from one image may have the same
// key, and the same address of docker0. Pure.
[[nodiscard]] std::vector<std::vector<std::string>> own_addresses(
    std::span<const std::vector<std::string>> confirmed);

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
  // What was changed on each host, one or two per host; an error where it reaches not all others.
  std::vector<Visit> visits;
  std::string note;  // what was checked
};

// For hosts that are set up. Cost: three sessions per host, one or two logins per address, and one
// login per checked pair.
[[nodiscard]] Result<MeshResult> connect_mesh(const Launcher& launcher,
                                              std::span<const Entry> entries);

}  // namespace muster::setup
