// The builds of muster that can go to hosts: this process's own, and the one installed beside it
// for hosts of another architecture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/push.hpp"

namespace muster::run {

// An architecture as `uname -m` names it, from any usual name for it: "aarch64" for "arm64". Other
// words are returned as they are, and words that cannot name an architecture as "".
[[nodiscard]] std::string machine_named(std::string_view word);

struct Build {
  std::string machine;    // "x86_64"
  std::string path;       // of its file here
  Result<Binary> binary;  // or why muster cannot read the file
};

// The first is this process's own.
using Builds = std::vector<Build>;

// Where a package installs the build for `machine` if its own command is in the directory `bin`.
[[nodiscard]] std::string installed_build(const std::string& bin, const std::string& machine);

// Cost: reads each build's file once.
[[nodiscard]] Builds find_builds();

// Names the directory on hosts. It is equal on all hosts, whichever build a host gets, because
// engines start ranks everywhere by one path.
[[nodiscard]] std::string folder_of(const Builds& builds);

// The build for a host of which agent_line told this machine, or an Error that says what to install
// here. A host without `uname` tells nothing and gets our own build, which push_line tries there.
[[nodiscard]] Result<const Build*> build_for(const Builds& builds, const std::string& host,
                                             std::string_view machine);

}  // namespace muster::run
