#include "cli/cluster_options.hpp"
#include "hosts/name.hpp"

namespace muster::cli {
namespace {

constexpr std::string_view kHosts = "Hosts";

// Rejects an empty value, which usually comes from an unset shell variable. Treating it as a
// missing flag could run a job on the wrong hosts.
std::string not_empty(const std::string& value) {
  return value.empty() ? "the value is empty" : "";
}

std::string user_name(const std::string& value) {
  return hosts::is_user(value) ? "" : "this is not a user name";
}

using ClusterRow = Row<ClusterOptions>;

constexpr ClusterRow kClusterFlags[] = {
    {{.names = "-H,--hosts,--host,-w",
      .value = "HOSTS",
      .group = kHosts,
      .foreign = "--nodelist --hostlist",
      .help = "Host names, with or without the number of slots: node1,node2 or node[01-16]:4"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.expression)->check(not_empty);
     }},
    {{.names = "-f,--hostfile,--machinefile",
      .value = "PATH",
      .group = kHosts,
      .foreign = "--nodefile -F",
      .help = "File that lists the hosts, in the format of mpirun, Slurm or DeepSpeed"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.hostfile)->check(not_empty);
     }},
    {{.names = "--include",
      .value = "HOSTS",
      .group = kHosts,
      .help = "Use only these hosts from the list"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.include)->check(not_empty);
     }},
    {{.names = "--exclude", .value = "HOSTS", .group = kHosts, .help = "Leave these hosts out"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.exclude)->check(not_empty);
     }},
    {{.names = "--config",
      .value = "PATH",
      .group = kHosts,
      .help = "Read this file instead of muster.yaml in this directory or above it"},
     [](const Adder& flag, ClusterOptions& to) { return flag.value(to.config)->check(not_empty); }},
    {{.names = "-P,--profile",
      .value = "PROFILE",
      .group = kHosts,
      .help = "Profile of muster.yaml to use"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.profile)->check(not_empty);
     }},
    {{.names = "-u,--user", .value = "USER", .group = kHosts, .help = "User to log in as"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.user)->check(not_empty)->check(user_name);
     }},
    {{.names = "-p,--port", .value = "N", .group = kHosts, .help = "ssh port of the hosts"},
     [](const Adder& flag, ClusterOptions& to) {
       return flag.value(to.port)->check(CLI::Range(1, 65535));
     }},
};

}  // namespace

std::span<const ClusterRow> cluster_flags() {
  return kClusterFlags;
}

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  add_flags(command, cluster_flags(), options);
}

}  // namespace muster::cli
