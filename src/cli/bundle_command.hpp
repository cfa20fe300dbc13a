// `muster setup --bundle`: its flags and its action, for the setup command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

struct BundleRequest {
  std::string folder;  // empty: --bundle was not given
  std::string owner = "1000:1000";
  std::string home = "/home/dev";
  std::string image;
  std::string workload;
  std::string network = "host";
  std::string subnet;
  bool force = false;
};

void add_bundle_options(CLI::App& command, BundleRequest& request);

// `cluster` has the hosts, the user in the containers and the port of the workers' sshd (12345 if
// it has no port).
[[nodiscard]] Result<int> make_bundle(const BundleRequest& request, const hosts::Cluster& cluster);

}  // namespace muster::cli
