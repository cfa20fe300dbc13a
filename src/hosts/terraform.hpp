// Reads the instances that Terraform made from `terraform output -json`: from the output "muster"
// of the module that `muster emit terraform` writes, or of any module with an output of this form.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct Instance {
  std::string public_address;   // empty if it has none
  std::string private_address;  // for connections between the instances
  std::string host_key;         // "ssh-ed25519 AAAA...", without a comment
};

struct Instances {
  std::string user;
  Instance launcher;
  std::vector<Instance> workers;  // at least one
};

// Rejects invalid addresses, users and host keys, and addresses that occur twice.
[[nodiscard]] Result<Instances> parse_terraform(const Source& source);

// Returns one line of known_hosts per instance, with both of its addresses.
[[nodiscard]] std::string known_hosts(const Instances& instances);

}  // namespace muster::hosts
