// The folder in which a rank's process makes its socket: MUSTER_RECORDERS in the environment.
#pragma once

#include <optional>
#include <string>

namespace muster::recorder {

// Returns a descriptor of the folder, or -1 unless the path is absolute and only our user can enter
// it.
[[nodiscard]] int open_private_folder(const char* path);

// A path for a name in the folder, short enough for a socket address.
[[nodiscard]] std::string socket_path(int folder, const std::string& name);

// A free name for this process's socket, after removing one that an ended process left behind. None
// if this process already has a socket or none can be made.
[[nodiscard]] std::optional<std::string> free_socket_name(int folder);

}  // namespace muster::recorder
