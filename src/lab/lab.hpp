// A lab: hosts made out of Linux namespaces on this machine. Everything here needs root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

struct HostStatus {
  std::string name;
  bool up = false;
  bool connected = false;  // all its cables are in the switch
  bool shaped = false;     // `link` slows one of them
  std::vector<std::string> addresses;
  std::vector<std::string> interfaces;
};

struct Status {
  Spec spec;
  std::vector<HostStatus> hosts;  // the launcher first
};

// Makes the lab; the spec's uid and password are chosen here when the password is empty. Returns
// the spec as built. After an Error nothing is left.
[[nodiscard]] Result<Spec> up(Spec spec);

// What `up` would do, one line a step, with nothing done.
[[nodiscard]] Result<std::vector<std::string>> dry_run(Spec spec);

// Ends every process of the lab and removes what `up` made, also after an `up` that was killed.
// False: there was no such lab.
[[nodiscard]] Result<bool> down(std::string_view lab);

// The names of the labs that exist on this machine.
[[nodiscard]] std::vector<std::string> labs();

[[nodiscard]] Result<Spec> load(std::string_view lab);
[[nodiscard]] Result<Status> status(std::string_view lab);

}  // namespace muster::lab
