// How to fix a host that is a container. Its limits and devices must be changed on the machine that
// starts the container.
#pragma once

#include <span>
#include <string>

#include "facts/facts.hpp"

namespace muster::checks {

[[nodiscard]] bool is_container(const facts::Facts& facts);

// Returns a worker's directory in a bundle of `muster setup --bundle`, quoted for a shell and
// relative to the bundle.
[[nodiscard]] std::string worker_folder(const std::string& host);

// Tells the user how to start the container again with these additional `flags`.
[[nodiscard]] std::string start_again_with(const facts::Facts& facts, const std::string& flags);

// Tells the user how to start the container again with the RDMA devices of its machine.
[[nodiscard]] std::string rdma_fix(const facts::Facts& facts);

// Tells the user how to make the container's user the owner of a file in its ~/.ssh. `folder` is
// the container's directory in the bundle; `bundle_owner` is empty if there is no bundle.
[[nodiscard]] std::string owner_fix(const facts::Facts& facts, const facts::FileMode& file,
                                    const std::string& bundle_owner, const std::string& folder);

// Tells the user how to repair workers of `muster setup --bundle` to which ssh could not log in.
// Empty if the launcher has no such bundle, or if the bundle cannot be the cause of the failure.
[[nodiscard]] std::string bundle_fix(const facts::Facts& launcher, const std::string& failure_id,
                                     std::span<const std::string> hosts);

}  // namespace muster::checks
