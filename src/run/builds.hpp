// The builds of muster that can go to hosts: this process's own, and the one installed beside it
// for hosts of another architecture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/push.hpp"

namespace muster::run {

// Returns the name that `uname -m` uses for the architecture `word`, such as "aarch64" for "arm64".
// Returns an unknown name unchanged, and "" for a word that cannot be the name of an architecture.
[[nodiscard]] std::string machine_named(std::string_view word);

struct Build {
  std::string machine;    // "x86_64"
  std::string path;       // of its file here
  Result<Binary> binary;  // or why muster cannot read the file
};

// The first is this process's own.
using Builds = std::vector<Build>;

// The path at which a package installs the build for `machine`. `bin` is the directory in which the
// package installs the command muster.
[[nodiscard]] std::string installed_build(const std::string& bin, const std::string& machine);

// Finds the builds on this machine. Cost: reads each build's file once.
[[nodiscard]] Builds find_builds();

// Returns the name of the binary's directory on the hosts. It is the same on all hosts, whichever
// build they get, because an engine starts the ranks of all hosts by one path.
[[nodiscard]] std::string folder_of(const Builds& builds);

// The build for a host on which agent_line reported `machine`, or an Error that says what to
// install here. A host without `uname` reports nothing and gets our own build; push_line finds out
// whether it runs there.
[[nodiscard]] Result<const Build*> build_for(const Builds& builds, const std::string& host,
                                             std::string_view machine);

}  // namespace muster::run
