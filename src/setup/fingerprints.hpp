// Fingerprints that a person vouches for: the file given by --fingerprints.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace muster::setup {

// A host may have several keys, hence several fingerprints.
using Fingerprints = std::unordered_map<std::string, std::vector<std::string>>;

// Lines "host SHA256:...", as `ssh-keygen -lf` prints them ("256 SHA256:... host (ED25519)", also
// "root@host"), with [host]:port and several names joined by ','. '#' begins a comment line.
// Pure.
[[nodiscard]] Result<Fingerprints> parse_fingerprints(std::string_view text,
                                                      const std::string& file);

// The lines in known_hosts form ("host ssh-ed25519 AAAA...") and the others, line numbers kept by
// empty lines. ssh-keygen turns the first sort into the second. Pure.
struct SplitLines {
  std::string known_hosts;
  std::string others;
};
[[nodiscard]] SplitLines split_known_hosts(std::string_view text);

// Reads the file; lines in known_hosts form go through `ssh-keygen -lf -`.
[[nodiscard]] Result<Fingerprints> read_fingerprints(const std::string& file);

}  // namespace muster::setup
