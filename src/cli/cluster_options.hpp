// The flags with which users name the hosts for a command.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/flag.hpp"
#include "hosts/cluster.hpp"

namespace muster::cli {

struct ConfigFile;

// A field is empty or 0 if its flag was not given.
struct ClusterOptions {
  std::string expression;
  std::string hostfile;
  std::string include;
  std::string exclude;
  std::string config;
  std::string profile;
  std::string user;
  int port = 0;
  // Hosts that were already chosen. If not empty, they replace everything else that names hosts.
  std::vector<hosts::Host> members = {};
  std::shared_ptr<const ConfigFile> file = nullptr;  // null: muster.yaml has not been read yet
};

[[nodiscard]] std::span<const Row<ClusterOptions>> cluster_flags();
void add_cluster_options(CLI::App& command, ClusterOptions& options);

// What to do if neither a flag nor muster.yaml names hosts.
enum class WithoutHosts { kRefused, kThisMachine };

// Flags win over muster.yaml. If a flag names hosts, everything that the file says about hosts is
// ignored, except its user and port.
[[nodiscard]] Result<hosts::Cluster> read_cluster(const ClusterOptions& options,
                                                  WithoutHosts without = WithoutHosts::kRefused);

}  // namespace muster::cli
