// `muster setup`: from a first login to passwordless ssh with pinned host keys.
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
  std::string key = {};       // private key file to use; empty: the cluster's own, made if missing
  std::string identity = {};  // a key that already opens the hosts
  std::optional<Secret> password = {};
  std::optional<Fingerprints> fingerprints = {};
  bool accept_all = false;
  bool host_to_host = false;
  bool dry_run = false;
};

// What became of one host.
struct HostResult {
  std::string host;
  std::vector<std::string> changes = {};
  std::optional<Error> error = {};
};

struct SetupResult {
  std::vector<std::string> launcher;  // changes on this machine
  std::vector<HostResult> hosts;      // in the order asked for
  std::vector<KeyOffer> keys = {};    // host keys seen for the first time
  std::vector<std::string> notes = {};
};

// An Error only when nothing could be begun; else one result a host.
// Cost: two logins per new host, one per host that is set up already, 64 at a time. The key
// exchange of a login takes most of the time; the last login stays open for the commands that
// follow.
[[nodiscard]] Result<SetupResult> set_up(SetupRequest request, Person& person);

}  // namespace muster::setup
