// A lab: hosts simulated by Linux namespaces on this machine. All functions here need root.
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
  bool connected = false;  // all cables are connected to the switch
  bool shaped = false;     // `link` has shaped one of its cables
  std::vector<std::string> addresses;
  std::vector<std::string> interfaces;
};

struct Status {
  Spec spec;
  std::vector<HostStatus> hosts;  // beginning with the launcher
};

// Makes the lab. If the password in `spec` is empty, chooses a password and a free uid. Returns the
// spec as built. If it fails, nothing is left behind.
[[nodiscard]] Result<Spec> up(Spec spec);

// Describes what `up` would do, one line per step, without doing it.
[[nodiscard]] Result<std::vector<std::string>> dry_run(Spec spec);

// Ends every process of the lab and removes what `up` made, even if that `up` was killed. Returns
// false if there was no such lab.
[[nodiscard]] Result<bool> down(std::string_view lab);

// The names of the labs on this machine.
[[nodiscard]] std::vector<std::string> labs();

[[nodiscard]] Result<Spec> load(std::string_view lab);
[[nodiscard]] Result<Status> status(std::string_view lab);

}  // namespace muster::lab
