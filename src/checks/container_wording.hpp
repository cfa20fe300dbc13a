// How to fix a host that is a container. Its limits and files are set where the container is
// started.
#pragma once

#include <span>
#include <string>

#include "facts/facts.hpp"

namespace muster::checks {

[[nodiscard]] bool is_container(const facts::Facts& facts);

// The directory of a worker in a bundle of `muster setup --bundle`, quoted for a shell.
[[nodiscard]] std::string worker_folder(const std::string& host);

// How to start the container again with these additional flags.
[[nodiscard]] std::string start_again_with(const facts::Facts& facts, const std::string& flags);

// How to start the container again with the RDMA devices of its machine.
[[nodiscard]] std::string rdma_fix(const facts::Facts& facts);

// How to make the container's user the owner of a file in its ~/.ssh. `folder` is the worker's
// directory in the bundle; `bundle_owner` is empty if there is no bundle.
[[nodiscard]] std::string owner_fix(const facts::Facts& facts, const facts::FileMode& file,
                                    const std::string& bundle_owner, const std::string& folder);

// How to repair a worker of `muster setup --bundle` to which ssh could not log in. Empty if the
// launcher has no such bundle, or if the failure has other causes.
[[nodiscard]] std::string bundle_fix(const facts::Facts& launcher, const std::string& failure_id,
                                     std::span<const std::string> hosts);

}  // namespace muster::checks
