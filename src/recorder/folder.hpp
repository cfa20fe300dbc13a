// The folder in which a rank's process makes its socket: MUSTER_RECORDERS in the environment.
#pragma once

#include <optional>
#include <string>

namespace muster::recorder {

// A descriptor of the folder, if the path is absolute and only we can get in; else -1.
[[nodiscard]] int open_private_folder(const char* path);

// A path for a name in the folder that is short enough for a socket.
[[nodiscard]] std::string socket_path(int folder, const std::string& name);

// The name for a socket of this process, after removal of what an ended process left there. None:
// this process has one, or there is no way to make one.
[[nodiscard]] std::optional<std::string> free_socket_name(int folder);

}  // namespace muster::recorder
