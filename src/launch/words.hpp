// Writes the parts that the plans of all engines have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan.hpp"

namespace muster::launch {

// A longer list of hosts goes into a file, because an argument is limited to 128 KiB.
constexpr std::size_t kMostInline = 64;

// The names of the variables that ranks get. Their values are never on a command line.
struct Variables {
  std::vector<std::string> forwarded = {};  // these win over values of the activation
  std::vector<std::string> defaults = {};   // values of the activation win over these

  // Returns all of them, and the two variables from which the rank processes know which ones win.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Collects the job's variables and muster's own. Adds the values of muster's own to plan.env. If
// the user has set one of these, that value stays and is noted.
[[nodiscard]] Variables add_variables(const layout::Job& job, const layout::Layout& layout,
                                      const Means& means, Plan& plan);

// Sets "NAME=value" for the engine itself, unless the user has set it, which is noted.
void set_for_engine(Plan& plan, const Means& means, const std::string& name,
                    const std::string& value);

// Returns the command of a rank: muster's rank process with its flags, followed by the program.
[[nodiscard]] std::vector<std::string> rank_words(const layout::Job& job,
                                                  const layout::Layout& layout, const Means& means);

// Whether daemons or ranks connect over IPv6.
[[nodiscard]] bool is_ipv6(const layout::Layout& layout);

// Whether all ranks run on this machine, so that nothing needs ssh.
[[nodiscard]] bool all_here(const layout::Layout& layout);

// Returns the name of the host in the engine's command; localhost for this machine.
[[nodiscard]] std::string engine_host(const layout::Placement& placement);

// Returns the engine's setting for binding ranks; empty if there is none.
[[nodiscard]] std::string engine_binding(const layout::Layout& layout);

// Return a note for Plan::notes: the user's own setting stays, and muster does not set its own.
[[nodiscard]] std::string stays_as_variable(std::string_view name);
[[nodiscard]] std::string stays_as_engine_arg(std::string_view flag);

// Whether the user gave the engine this flag: "--name", "--name=value" or "name value".
[[nodiscard]] bool given_by_user(const layout::Job& job, std::string_view flag);

// Returns the number of ranks per host if it is the same on all hosts, otherwise 0.
[[nodiscard]] int ranks_on_each(const layout::Layout& layout);

// Collects the words of an engine's command.
class CommandWriter {
 public:
  CommandWriter(const layout::Job& job, const layout::Layout& layout, const Means& means)
      : job_(job), layout_(layout), means_(means) {}

 protected:
  void add(const std::vector<std::string>& words) {
    argv_.insert(argv_.end(), words.begin(), words.end());
  }
  // Returns the plan with this command, after adding the user's arguments for the engine and the
  // rank's command. `shim_flags` become the first flags of the rank process.
  [[nodiscard]] Plan finish(const std::vector<std::string>& shim_flags = {});

  const layout::Job& job_;
  const layout::Layout& layout_;
  const Means& means_;
  std::vector<std::string> argv_;
  Plan plan_;
};

}  // namespace muster::launch
