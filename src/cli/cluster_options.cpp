#include "cli/cluster_options.hpp"

#include <filesystem>
#include <optional>

#include "hosts/config.hpp"
#include "hosts/expression.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/selection.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

constexpr const char* kConfigName = "muster.yaml";

// Where the list of hosts comes from, once flags and muster.yaml are weighed.
struct Origin {
  std::vector<hosts::Host> hosts = {};
  std::string source = {};
};

// A file that the user named: where it cannot be read, the request is at fault.
Result<std::string> read_named(const std::string& path, std::size_t max_bytes,
                               sys::Writers writers) {
  auto text = sys::read_file(path, max_bytes, writers);
  if (!text) text.error().code = ErrorCode::kUsage;
  return text;
}

Result<Origin> read_hostfile(const std::string& path) {
  MUSTER_TRY(const std::string text, read_named(path, sys::kMaxFileBytes, sys::Writers::kAnybody));
  MUSTER_TRY(hosts::Hostfile file, hosts::parse_hostfile({.text = text, .name = path}));
  return Origin{.hosts = std::move(file.hosts), .source = path};
}

// The path of muster.yaml, empty where there is none.
std::string config_path(const ClusterOptions& options) {
  if (!options.config.empty()) return options.config;
  return sys::exists(kConfigName) ? kConfigName : "";
}

Result<hosts::Config> read_config(const std::string& path) {
  if (path.empty()) return hosts::Config{};
  // `activate` runs commands.
  MUSTER_TRY(const std::string text,
             read_named(path, hosts::kMaxConfigBytes, sys::Writers::kOnlyUs));
  MUSTER_TRY(hosts::Config config, hosts::parse_config({.text = text, .name = path}));
  if (!config.hostfile.empty()) {
    config.hostfile = std::filesystem::path(path).parent_path() / config.hostfile;
  }
  return config;
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
  if (config_file.empty() && without == WithoutHosts::kThisMachine) {
    return Origin{.hosts = {{.name = "localhost"}}, .source = "this machine"};
  }
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = config_file.empty() ? "you have not named any hosts" : "the file names no hosts",
      .where = {.file = config_file},
      .hint = "name hosts with -H node[01-16]:4, with --hostfile FILE, or with 'hosts: "
              "node[01-16]:4' in the file muster.yaml in this directory"});
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
  const std::string config_file = config_path(options);
  MUSTER_TRY(hosts::Config config, read_config(config_file));
  if (!options.expression.empty() || !options.hostfile.empty()) {
    config.include.reset();
    config.exclude.reset();
  }
  Origin origin{.hosts = options.members, .source = "-H"};
  if (options.members.empty()) {
    MUSTER_TRY(origin, read_origin(options, config, config_file, without));
  }
  const bool chosen = !options.members.empty();
  MUSTER_TRY(const auto wanted, selection("--include", options.include, config.include));
  MUSTER_TRY(const auto unwanted, selection("--exclude", options.exclude, config.exclude));
  hosts::Cluster cluster{.hosts = std::move(origin.hosts),
                         .user = options.user.empty() ? config.user : options.user,
                         .port = options.port == 0 ? config.port : options.port,
                         .activate = config.activate,
                         .sync = config.sync,
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
