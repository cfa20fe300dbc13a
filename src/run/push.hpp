// Brings the muster binary to hosts, once: by content hash, to one path equal on all of them. All
// pure: the lines for the hosts' shells and the meaning of their ends.
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

// Ends of the lines below, beside the agent's own.
constexpr int kNotThere = 97;   // the binary is not there yet; standard error tells the machine
constexpr int kNotOurs = 98;    // the folder is somebody else's, or open to others
constexpr int kCannotRun = 96;  // it is there and does not run: a noexec file system, another
                                // machine type

// Where to look, best first. `uid` only makes the name: the folder must be the remote user's own.
[[nodiscard]] std::vector<std::string> push_bases(unsigned uid);

// `folder` is the name of the directory in `base`, from folder_of().
[[nodiscard]] std::string binary_path(const std::string& base, const std::string& folder);

// Becomes `muster agent` where the binary is there and safe.
[[nodiscard]] std::string agent_line(const std::string& base, const std::string& folder);

// What agent_line told about the host's machine before it ended with kNotThere: the word of
// `uname -m`. Empty: nothing. The rest of `err` is anything that the host's shell says.
[[nodiscard]] std::string_view told_machine(std::string_view err);

// Reads the binary from its input; verifies owner, mode, length and hash before the rename.
[[nodiscard]] std::string push_line(const std::string& base, const std::string& folder,
                                    const Binary& binary);

}  // namespace muster::run
