// Fingerprints that the user vouches for: the file given with --fingerprints.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace muster::setup {

// Fingerprints by host name. A host may have several keys, hence several fingerprints.
using Fingerprints = std::unordered_map<std::string, std::vector<std::string>>;

// Parses lines "host SHA256:..." and those of `ssh-keygen -lf` ("256 SHA256:... host (ED25519)",
// also "root@host"). Accepts [host]:port, and several names joined by ','. A line that starts with
// '#' is a comment. Pure.
[[nodiscard]] Result<Fingerprints> parse_fingerprints(std::string_view text,
                                                      const std::string& file);

// Separates lines in known_hosts form ("host ssh-ed25519 AAAA..."), which ssh-keygen converts into
// fingerprints, from the others. Each text has an empty line in place of a line of the other, so
// that line numbers stay the same. Pure.
struct SplitLines {
  std::string known_hosts;
  std::string others;
};
[[nodiscard]] SplitLines split_known_hosts(std::string_view text);

// Reads the file. Lines in known_hosts form are converted with `ssh-keygen -lf -`.
[[nodiscard]] Result<Fingerprints> read_fingerprints(const std::string& file);

}  // namespace muster::setup
