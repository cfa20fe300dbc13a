// The flags by which every command is told its hosts.
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

// Empty or 0: the flag was not given.
struct ClusterOptions {
  std::string expression;
  std::string hostfile;
  std::string include;
  std::string exclude;
  std::string config;
  std::string profile;
  std::string user;
  int port = 0;
  std::vector<hosts::Host> members = {};  // chosen already, instead of all that names hosts
  std::shared_ptr<const ConfigFile> file = nullptr;  // null: muster.yaml was not read yet
};

[[nodiscard]] std::span<const Row<ClusterOptions>> cluster_flags();
void add_cluster_options(CLI::App& command, ClusterOptions& options);

// What to do if neither flags nor a muster.yaml name hosts.
enum class WithoutHosts { kRefused, kThisMachine };

// Flags win over muster.yaml. Hosts named by a flag put all that the file says of hosts aside; its
// user and port still hold.
[[nodiscard]] Result<hosts::Cluster> read_cluster(const ClusterOptions& options,
                                                  WithoutHosts without = WithoutHosts::kRefused);

}  // namespace muster::cli
