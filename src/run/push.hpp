// Pushes the muster binary to hosts, once per version: by content hash, to the same path on all of
// them. All pure: builds the command lines for the hosts' shells and interprets their exit codes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::run {

struct Binary {
  std::string hash;
  std::size_t bytes = 0;
};

// Exit codes of these command lines, in addition to the agent's own.
constexpr int kNotThere = 97;   // the binary is missing
constexpr int kNotOurs = 98;    // the folder belongs to another user or is open to others
constexpr int kCannotRun = 96;  // the binary is there but does not run: a noexec file system, or
                                // another machine type

// The folders to try, best first. `uid` only makes the name unique; the folder must belong to the
// remote user.
[[nodiscard]] std::vector<std::string> push_bases(unsigned uid);

[[nodiscard]] std::string binary_path(const std::string& base, const Binary& binary);

// Starts `muster agent` if the binary is there and safe.
[[nodiscard]] std::string agent_line(const std::string& base, const Binary& binary);

// Reads the binary from standard input, and verifies owner, mode, length and hash before the
// rename.
[[nodiscard]] std::string push_line(const std::string& base, const Binary& binary);

}  // namespace muster::run
