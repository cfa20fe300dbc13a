// The flags by which every command is told its hosts.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

struct ClusterOptions {
  std::string expression;
  std::string user;
  int port = 0;
};

void add_cluster_options(CLI::App& command, ClusterOptions& options);

[[nodiscard]] Result<hosts::Cluster> read_cluster(const ClusterOptions& options);

}  // namespace muster::cli
