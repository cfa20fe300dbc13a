// --host-to-host: lets every host reach every other one, for launchers that start processes in a
// tree.
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

// What a host says about itself (its key and its addresses) is checked before other hosts get it.
// The key must be a key and nothing more. An address counts only if a login to it, from here or
// through another host, finds the pinned host key.

// Returns the part "ssh-ed25519 AAAA..." without a comment; nothing if the text is not such a key.
// Pure.
[[nodiscard]] std::optional<std::string> plain_key(std::string_view text);

// Returns the texts in `claimed` that are addresses, at most 16. Pure.
[[nodiscard]] std::vector<std::string> plausible_addresses(std::span<const std::string> claimed);

// Returns, for each host, the addresses that no other host has. Hosts made from one image may have
// the same host key and the same address of docker0, so that a login confirms an address for both.
// Pure.
[[nodiscard]] std::vector<std::vector<std::string>> own_addresses(
    std::span<const std::vector<std::string>> confirmed);

// Turns the line of a pinned known_hosts file ("n1 ssh-ed25519 AAAA..." or "[n1]:2222 ...") into
// lines "name known_hosts-line" for other names. Empty if the file does not have ssh's format.
// Pure.
[[nodiscard]] std::string pins_for(std::string_view known_hosts,
                                   std::span<const std::string> names);

// Returns the rounds in which pairs of hosts are tested. In round `r`, every host connects to the
// host `r` places after it, so that each host gets one connection at a time. Returns all n-1 rounds
// for up to 64 hosts, and a sample of them for more. Pure.
[[nodiscard]] std::vector<std::size_t> mesh_rounds(std::size_t hosts);

// Fails if the hosts differ in user or port, because every host uses the same user and port for all
// others. Pure.
[[nodiscard]] Result<void> check_mesh(std::span<const Entry> entries);

struct MeshResult {
  // What was changed on each host, one or two entries per host. An error if the host does not reach
  // all others.
  std::vector<Visit> visits;
  std::string note;  // what was checked
};

// The hosts must be set up. Cost: three sessions per host, one or two logins per address, and one
// login per checked pair.
[[nodiscard]] Result<MeshResult> connect_mesh(const Launcher& launcher,
                                              std::span<const Entry> entries);

}  // namespace muster::setup
