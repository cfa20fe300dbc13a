// The instances that Terraform made, from `terraform output -json`: the output "muster" of the
// module that `muster emit terraform` writes, or of any module with an output of that form.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct Instance {
  std::string public_address;   // empty: none
  std::string private_address;  // by which the instances reach each other
  std::string host_key;         // "ssh-ed25519 AAAA...", without a comment
};

struct Instances {
  std::string user;
  Instance launcher;
  std::vector<Instance> workers;  // at least one
};

// Refuses what is not an address, a user or a host key, and addresses that two instances have.
[[nodiscard]] Result<Instances> parse_terraform(const Source& source);

// One line of known_hosts per instance, with both addresses.
[[nodiscard]] std::string known_hosts(const Instances& instances);

}  // namespace muster::hosts
