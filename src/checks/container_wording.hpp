// What to do about a host that is a container: its limits and files are set where it is started.
#pragma once

#include <span>
#include <string>

#include "facts/facts.hpp"

namespace muster::checks {

[[nodiscard]] bool is_container(const facts::Facts& facts);

// How to start the container again with these flags of its engine.
[[nodiscard]] std::string start_again_with(const facts::Facts& facts, const std::string& flags);

// How to mend a worker of `muster setup --bundle` that ssh did not get into; empty: the launcher
// has no such bundle, or this failure has nothing to do with it.
[[nodiscard]] std::string bundle_fix(const facts::Facts& launcher, const std::string& failure_id,
                                     std::span<const std::string> hosts);

}  // namespace muster::checks
