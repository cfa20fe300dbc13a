// Command lines for the hosts' shells that push the muster binary to hosts. Each version is pushed
// once, to a directory that is named by a hash of its content and is the same on all hosts. All
// pure.
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
constexpr int kNotThere = 97;   // the binary is missing; standard error names the architecture
constexpr int kNotOurs = 98;    // the folder belongs to another user or is open to others
constexpr int kCannotRun = 96;  // the binary could not be written, or does not run: perhaps
                                // because of a noexec file system or another architecture

// The folders to try, best first. `uid` only makes the names unique; on a host, the folder must
// belong to the user there.
[[nodiscard]] std::vector<std::string> push_bases(unsigned uid);

// `folder` is the name of the directory in `base`, from folder_of().
[[nodiscard]] std::string binary_path(const std::string& base, const std::string& folder);

// The command line that starts `muster agent` if the binary is there and no other user can have
// changed it. Otherwise it exits with kNotThere or kNotOurs.
[[nodiscard]] std::string agent_line(const std::string& base, const std::string& folder);

// The host's architecture as `uname -m` names it, from the standard error (`err`) of an agent_line
// that ended with kNotThere; empty if it is missing. Ignores whatever else the host's shell
// printed.
[[nodiscard]] std::string_view told_machine(std::string_view err);

// The command line that reads the binary from standard input and stores it. It checks the folder's
// owner and mode, and the length and hash of the new file, before it gives the file its name.
[[nodiscard]] std::string push_line(const std::string& base, const std::string& folder,
                                    const Binary& binary);

}  // namespace muster::run
