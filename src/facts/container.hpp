// The container that we are in, if we are in one. Part of Facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace muster::facts {

// "docker", "podman", "containerd" or "kubernetes", by the files that the engine mounts into each
// of its containers. `mountinfo` is the text of /proc/self/mountinfo. Empty: none of them.
[[nodiscard]] std::string engine_in_mounts(std::string_view mountinfo);

// Those that jobs use and that the bounding set (CapBnd of /proc/self/status) lacks.
[[nodiscard]] std::vector<std::string> lacking_capabilities(std::string_view status);

// Whether we may open a device of verbs, through which programs use RDMA cards.
[[nodiscard]] bool may_open_verbs(const std::string& folder = "/dev/infiniband");

// "1000:1000" out of the first line of an ssh configuration of `muster setup --bundle`; empty: it
// is none.
[[nodiscard]] std::string bundle_owner(std::string_view ssh_config);

// `home` is the folder whose .ssh belongs to the user.
[[nodiscard]] Container read_container(const std::string& home);

}  // namespace muster::facts
