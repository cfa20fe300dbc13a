#include <array>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "hosts/fold.hpp"
#include "hosts/hostfile.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

std::map<std::string, hosts::Dialect> dialects() {
  return {{"bare", hosts::Dialect::kBare},
          {"deepspeed", hosts::Dialect::kOpenMpi},
          {"hydra", hosts::Dialect::kHydra},
          {"openmpi", hosts::Dialect::kOpenMpi},
          {"slurm", hosts::Dialect::kSlurm}};
}

struct HostsOptions {
  ClusterOptions cluster;
  bool expand = false;
  bool count = false;
  bool json = false;
  std::string dialect;
};

std::string to_json(const hosts::Cluster& cluster) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  long slots = 0;
  for (const hosts::Host& host : cluster.hosts) {
    list.push_back({{"name", host.name}, {"slots", host.slots}});
    slots += host.slots;
  }
  const nlohmann::ordered_json value = {
      {"hosts", std::move(list)}, {"count", cluster.hosts.size()},
      {"slots", slots},           {"folded", hosts::fold(cluster.hosts)},
      {"user", cluster.user},     {"port", cluster.port},
      {"source", cluster.source}};
  return json_text(value) + '\n';
}

std::string to_lines(const std::vector<hosts::Host>& hosts) {
  std::string text;
  for (const hosts::Host& host : hosts) text.append(host.name).append(1, '\n');
  return text;
}

Result<std::string> describe(const HostsOptions& options, const hosts::Cluster& cluster) {
  if (options.json) return to_json(cluster);
  if (options.count) return fmt::format("{}\n", cluster.hosts.size());
  if (options.expand) return to_lines(cluster.hosts);
  if (options.dialect.empty()) return hosts::fold(cluster.hosts) + '\n';
  return hosts::to_hostfile(cluster.hosts, dialects().at(options.dialect));
}

Result<int> show_hosts(const HostsOptions& options) {
  MUSTER_TRY(const hosts::Cluster cluster, read_cluster(options.cluster));
  MUSTER_TRY(const std::string text, describe(options, cluster));
  sys::write_out(text);
  return 0;
}

}  // namespace

void add_hosts(CLI::App& app, Action& action) {
  auto options = std::make_shared<HostsOptions>();
  CLI::App* command =
      app.add_subcommand("hosts", "Show the hosts that a host list or host file stands for");
  command->footer(
      "Examples:\n"
      "  muster hosts -H 'node[01-16]:4' --expand\n"
      "  muster hosts -f hosts.txt --format slurm");
  add_cluster_options(*command, options->cluster);
  const std::array<CLI::Option*, 4> forms = {
      command->add_flag("--expand", options->expand, "Print one host per line, in the given order"),
      command->add_flag("--count", options->count, "Print only the number of hosts"),
      command->add_flag("--json", options->json, "Print names, slots, user and port as JSON"),
      command->add_option("--format", options->dialect, "Print a host file in this format")
          ->check(CLI::IsMember(dialects()))
          ->type_name("FORMAT")};
  for (std::size_t i = 0; i < forms.size(); ++i) {
    forms[i]->group("Output (one of)");
    for (std::size_t j = 0; j < i; ++j) forms[i]->excludes(forms[j]);
  }
  command->callback([options, &action] { action = [options] { return show_hosts(*options); }; });
}

}  // namespace muster::cli
