// What the plans of all engines have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan.hpp"

namespace muster::launch {

// Beyond this many hosts the list goes into a file: one argument may have 128 KiB.
constexpr std::size_t kMostInline = 64;

// The variables that the ranks are handed, by name: values never stand in a command line.
struct Variables {
  std::vector<std::string> forwarded = {};  // win over the activation's
  std::vector<std::string> defaults = {};   // the activation's win over them

  // All of them and the two lists that tell the shim which is which.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Those of the job and muster's own; the values of the latter go to plan.env, what the user has set
// stays and is noted.
[[nodiscard]] Variables add_variables(const layout::Job& job, const layout::Layout& layout,
                                      const Means& means, Plan& plan);

// "NAME=value" for the engine itself, unless the user has set it: then a note.
void set_for_engine(Plan& plan, const Means& means, const std::string& name,
                    const std::string& value);

// The shim and, behind it, the program.
[[nodiscard]] std::vector<std::string> rank_words(const layout::Job& job,
                                                  const layout::Layout& layout, const Means& means);

// Whether the daemons or the ranks connect over IPv6.
[[nodiscard]] bool is_ipv6(const layout::Layout& layout);

// Whether all ranks run on this machine, so that nothing needs ssh.
[[nodiscard]] bool all_here(const layout::Layout& layout);

// The host's name for the engine, which is localhost for this machine.
[[nodiscard]] std::string engine_host(const layout::Placement& placement);

// How the engine is to bind ranks, in its own words.
[[nodiscard]] std::string engine_binding(const layout::Layout& layout);

// Notes on what the user has set, which takes the place of ours.
[[nodiscard]] std::string stays_as_variable(std::string_view name);
[[nodiscard]] std::string stays_as_engine_arg(std::string_view flag);

// Whether the user gave the engine this flag: "--name", "--name=value" or "name value".
[[nodiscard]] bool given_by_user(const layout::Job& job, std::string_view flag);

// The number of ranks a host where it is the same on all; else 0.
[[nodiscard]] int ranks_on_each(const layout::Layout& layout);

// An engine's command, word by word.
class CommandWriter {
 public:
  CommandWriter(const layout::Job& job, const layout::Layout& layout, const Means& means)
      : job_(job), layout_(layout), means_(means) {}

 protected:
  void add(const std::vector<std::string>& words) {
    argv_.insert(argv_.end(), words.begin(), words.end());
  }
  // The plan with this command, to which the user's words for the engine and those of the rank are
  // added. `shim_flags` come first among the flags of the rank's shim.
  [[nodiscard]] Plan finish(const std::vector<std::string>& shim_flags = {});

  const layout::Job& job_;
  const layout::Layout& layout_;
  const Means& means_;
  std::vector<std::string> argv_;
  Plan plan_;
};

}  // namespace muster::launch
