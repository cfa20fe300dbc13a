// `muster setup`: starts with a first login to each host and leads to ssh without passwords and
// with pinned host keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/cluster.hpp"
#include "setup/fingerprints.hpp"
#include "setup/person.hpp"
#include "setup/secret.hpp"

namespace muster::setup {

struct SetupRequest {
  hosts::Cluster cluster;
  std::string key = {};       // private key file; empty: the cluster's own, created if missing
  std::string identity = {};  // a key that already opens the hosts
  std::optional<Secret> password = {};
  std::optional<Fingerprints> fingerprints = {};
  bool accept_all = false;
  bool host_to_host = false;
  bool dry_run = false;
};

// The result for one host.
struct HostResult {
  std::string host;
  std::vector<std::string> changes = {};
  std::optional<Error> error = {};
};

struct SetupResult {
  std::vector<std::string> launcher;  // changes on this machine
  std::vector<HostResult> hosts;      // in the requested order
  std::vector<KeyOffer> keys = {};    // host keys seen for the first time
  std::vector<std::string> notes = {};
};

// Fails as a whole only if it could not begin; otherwise returns one result per host. Cost: two
// logins per new host, and one per host that is already set up, 64 at a time. The key exchange
// takes most of a login's time. The connection of the last login stays open for later commands.
[[nodiscard]] Result<SetupResult> set_up(SetupRequest request, Person& person);

}  // namespace muster::setup
