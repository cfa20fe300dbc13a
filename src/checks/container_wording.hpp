// What to do about a host that is a container: its limits and files are set where it is started.
#pragma once

#include <span>
#include <string>

#include "facts/facts.hpp"

namespace muster::checks {

[[nodiscard]] bool is_container(const facts::Facts& facts);

// The directory of a worker in a bundle, quoted for a shell.
[[nodiscard]] std::string worker_folder(const std::string& host);

// How to start the container again with these flags of its engine.
[[nodiscard]] std::string start_again_with(const facts::Facts& facts, const std::string& flags);

// How to start the container again with the RDMA devices of its machine.
[[nodiscard]] std::string rdma_fix(const facts::Facts& facts);

// How to give the container's user a file of its ~/.ssh. `folder` is that directory in the bundle;
// without a bundle its owner is empty.
[[nodiscard]] std::string owner_fix(const facts::Facts& facts, const facts::FileMode& file,
                                    const std::string& bundle_owner, const std::string& folder);

// How to mend a worker of `muster setup --bundle` that ssh did not get into; empty: the launcher
// has no such bundle, or this failure has nothing to do with it.
[[nodiscard]] std::string bundle_fix(const facts::Facts& launcher, const std::string& failure_id,
                                     std::span<const std::string> hosts);

}  // namespace muster::checks
