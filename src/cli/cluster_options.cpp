#include "cli/cluster_options.hpp"

#include <optional>

#include "cli/config_file.hpp"
#include "hosts/expression.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/selection.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

// The list of hosts, from the flags or from muster.yaml, and the name of its source.
struct Origin {
  std::vector<hosts::Host> hosts = {};
  std::string source = {};
};

Result<Origin> read_hostfile(const std::string& path) {
  auto text = sys::read_file(path);
  if (!text) {
    text.error().code = ErrorCode::kUsage;  // the user named the file
    return unexpected(text.error());
  }
  MUSTER_TRY(hosts::Hostfile file, hosts::parse_hostfile({.text = *text, .name = path}));
  return Origin{.hosts = std::move(file.hosts), .source = path};
}

Result<Origin> read_origin(const ClusterOptions& options, hosts::Config& config,
                           const std::string& config_file, WithoutHosts without) {
  if (!options.expression.empty()) {
    MUSTER_TRY(auto list, hosts::parse_expression({.text = options.expression, .name = "-H"}));
    return Origin{.hosts = std::move(list), .source = "-H"};
  }
  if (!options.hostfile.empty()) return read_hostfile(options.hostfile);
  if (!config.hostfile.empty()) return read_hostfile(config.hostfile);
  if (!config.hosts.empty()) {
    return Origin{.hosts = std::move(config.hosts), .source = config_file};
  }
  if (without == WithoutHosts::kThisMachine) {
    return Origin{.hosts = {{.name = "localhost"}}, .source = "this machine"};
  }
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = config_file.empty() ? "you have not named any hosts" : "the file names no hosts",
      .where = {.file = config_file},
      .hint = "name hosts with -H node[01-16]:4, with --hostfile FILE, or with 'hosts: "
              "node[01-16]:4' in the file muster.yaml in this directory or above it"});
}

Result<std::optional<hosts::Selection>> selection(const std::string& flag, const std::string& text,
                                                  const std::optional<hosts::Selection>& other) {
  if (text.empty()) return other;
  return hosts::parse_selection({.text = text, .name = flag});
}

}  // namespace

Result<hosts::Cluster> read_cluster(const ClusterOptions& options, WithoutHosts without) {
  if (!options.expression.empty() && !options.hostfile.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "-H and --hostfile cannot be used together",
              .hint = "pass only one of them; to choose some hosts of the file, use --include"});
  }
  std::shared_ptr<const ConfigFile> file = options.file;
  if (!file) {
    MUSTER_TRY(file, read_config(options));
  }
  hosts::Config config = file->config;
  if (!options.expression.empty() || !options.hostfile.empty()) {
    config.include.reset();
    config.exclude.reset();
  }
  Origin origin{.hosts = options.members, .source = "-H"};
  if (options.members.empty()) {
    MUSTER_TRY(origin, read_origin(options, config, file->path, without));
  }
  const bool chosen = !options.members.empty();
  MUSTER_TRY(const auto wanted, selection("--include", options.include, config.include));
  MUSTER_TRY(const auto unwanted, selection("--exclude", options.exclude, config.exclude));
  hosts::Cluster cluster{.hosts = std::move(origin.hosts),
                         .user = options.user.empty() ? config.user : options.user,
                         .port = options.port == 0 ? config.port : options.port,
                         .source = std::move(origin.source)};
  if (wanted && !chosen) {
    MUSTER_TRY(cluster.hosts, hosts::include(std::move(cluster.hosts), *wanted));
  }
  if (unwanted && !chosen) {
    MUSTER_TRY(cluster.hosts, hosts::exclude(std::move(cluster.hosts), *unwanted));
  }
  return cluster;
}

}  // namespace muster::cli
