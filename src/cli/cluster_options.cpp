#include "cli/cluster_options.hpp"

#include "hosts/expression.hpp"

namespace muster::cli {

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("-H,--host,--hosts,-w", options.expression, "Hosts, e.g. node[01-16]:4");
  command.add_option("-u,--user", options.user, "Log in as this user");
  command.add_option("-p,--port", options.port, "The hosts' ssh port");
}

Result<hosts::Cluster> read_cluster(const ClusterOptions& options) {
  hosts::Cluster cluster{.hosts = {}, .user = options.user, .port = options.port, .source = "-H"};
  MUSTER_TRY(cluster.hosts, hosts::parse_expression(options.expression));
  return cluster;
}

}  // namespace muster::cli
