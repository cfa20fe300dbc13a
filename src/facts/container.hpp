// The container in which muster runs, if it runs in one. Part of Facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// "docker", "podman", "containerd" or "kubernetes", recognised by the files that the engine mounts
// into each of its containers; empty if it is none of these. `mountinfo` is the text of
// /proc/self/mountinfo.
[[nodiscard]] std::string engine_in_mounts(std::string_view mountinfo);

// The capabilities that jobs use and that the bounding set (CapBnd in /proc/self/status) lacks.
[[nodiscard]] std::vector<std::string> lacking_capabilities(std::string_view status);

// Whether this process may open a verbs device, through which programs use RDMA cards.
[[nodiscard]] bool may_open_verbs(const std::string& folder = "/dev/infiniband");

// Returns "1000:1000" from the first line of an ssh configuration that `muster setup --bundle`
// wrote. Empty for other files.
[[nodiscard]] std::string bundle_owner(std::string_view ssh_config);

// `home` is the user's home directory. Its .ssh/config shows whether `muster setup --bundle` wrote
// it.
[[nodiscard]] Container read_container(const std::string& home);

}  // namespace muster::facts
