// The folder in which a rank's process makes its socket. MUSTER_RECORDERS in the environment names
// it.
#pragma once

#include <optional>
#include <string>

namespace muster::recorder {

// Returns a descriptor of the folder, or -1 unless the path is absolute and only our user can enter
// it.
[[nodiscard]] int open_private_folder(const char* path);

// Returns a path for a name in the folder, short enough for a socket address.
[[nodiscard]] std::string socket_path(int folder, const std::string& name);

// Returns a free name for this process's socket. If an ended process left a socket of that name
// behind, removes it. Returns nothing if this process already has a socket or no name is free.
[[nodiscard]] std::optional<std::string> free_socket_name(int folder);

}  // namespace muster::recorder
