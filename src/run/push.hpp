// Pushes the muster binary to hosts, once per version: by content hash, to the same path on all of
// them. All pure: builds the command lines for the hosts' shells and interprets their exit codes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::run {

struct Binary {
  std::string hash;
  std::size_t bytes = 0;
};

// Exit codes of these command lines, in addition to the agent's own.
constexpr int kNotThere = 97;   // the binary is missing; standard error tells the architecture
constexpr int kNotOurs = 98;    // the folder belongs to another user or is open to others
constexpr int kCannotRun = 96;  // the binary is there but does not run: a noexec file system, or
                                // another architecture

// The folders to try, best first. `uid` only makes the name unique; the folder must belong to the
// remote user.
[[nodiscard]] std::vector<std::string> push_bases(unsigned uid);

// `folder` is the name of the directory in `base`, from folder_of().
[[nodiscard]] std::string binary_path(const std::string& base, const std::string& folder);

// Starts `muster agent` if the binary is there and safe.
[[nodiscard]] std::string agent_line(const std::string& base, const std::string& folder);

// The host's architecture, in the words of `uname -m`, which agent_line told before it ended with
// kNotThere; empty if it told nothing. The rest of `err` is anything that the host's shell says.
[[nodiscard]] std::string_view told_machine(std::string_view err);

// Reads the binary from standard input, and verifies owner, mode, length and hash before the
// rename.
[[nodiscard]] std::string push_line(const std::string& base, const std::string& folder,
                                    const Binary& binary);

}  // namespace muster::run
