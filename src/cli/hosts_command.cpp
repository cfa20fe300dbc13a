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
#include "hosts/terraform.hpp"
#include "sys/file.hpp"
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
  std::string terraform;  // a path, or "-"
  bool is_outside = false;
  bool known_hosts = false;
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

Result<hosts::Instances> read_instances(const HostsOptions& options) {
  const std::string path = options.terraform == "-" ? "/dev/stdin" : options.terraform;
  auto text = sys::read_file(path);
  if (!text) {
    text.error().code = ErrorCode::kUsage;
    return unexpected(text.error());
  }
  return hosts::parse_terraform({.text = *text, .name = path});
}

// An expression for -H: the workers' private addresses, which the launcher uses, or the launcher's
// public address if `is_outside`.
Result<std::string> expression_of(const hosts::Instances& instances, bool is_outside) {
  if (!is_outside) {
    std::string text;
    for (const hosts::Instance& worker : instances.workers) text += worker.private_address + ",";
    text.pop_back();
    return text;
  }
  if (!instances.launcher.public_address.empty()) return instances.launcher.public_address;
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "the launcher has no public address",
                          .hint = "use a machine in its network; its private address is " +
                                  instances.launcher.private_address});
}

Result<int> show_instances(HostsOptions options) {
  MUSTER_TRY(const hosts::Instances instances, read_instances(options));
  if (options.known_hosts) {
    sys::write_out(hosts::known_hosts(instances));
    return 0;
  }
  MUSTER_TRY(options.cluster.expression, expression_of(instances, options.is_outside));
  if (options.cluster.user.empty()) options.cluster.user = instances.user;
  MUSTER_TRY(hosts::Cluster cluster, read_cluster(options.cluster));
  cluster.source = options.terraform;
  MUSTER_TRY(const std::string text, describe(options, cluster));
  sys::write_out(text);
  return 0;
}

Result<int> show_hosts(const HostsOptions& options) {
  if (!options.terraform.empty()) return show_instances(options);
  MUSTER_TRY(const hosts::Cluster cluster, read_cluster(options.cluster));
  MUSTER_TRY(const std::string text, describe(options, cluster));
  sys::write_out(text);
  return 0;
}

// Returns the flag that prints host keys, which excludes other forms of output.
CLI::Option* add_terraform_flags(CLI::App& command, HostsOptions& options) {
  constexpr auto kGroup = "Terraform";
  CLI::Option* terraform =
      command.add_option("--terraform", options.terraform,
                         "Read the instances from a file with the output of 'terraform output "
                         "-json', or - for stdin");
  terraform->type_name("PATH")->group(kGroup);
  for (const char* other : {"--hosts", "--hostfile"}) {
    terraform->excludes(command.get_option(other));
  }
  command
      .add_flag("--public", options.is_outside,
                "Show the launcher's public address instead of the workers")
      ->needs(terraform)
      ->group(kGroup);
  return command
      .add_flag("--known-hosts", options.known_hosts,
                "Print the host keys of all instances, for muster setup --fingerprints")
      ->needs(terraform);
}

}  // namespace

void add_hosts(CLI::App& app, Action& action) {
  auto options = std::make_shared<HostsOptions>();
  CLI::App* command =
      app.add_subcommand("hosts", "Show the hosts that a host list or host file stands for");
  command->footer(
      "Examples:\n"
      "  muster hosts -H 'node[01-16]:4' --expand\n"
      "  muster hosts -f hosts.txt --format slurm\n"
      "  muster hosts --terraform cluster.json --expand");
  add_cluster_options(*command, options->cluster);
  const std::array<CLI::Option*, 5> forms = {
      command->add_flag("--expand", options->expand, "Print one host per line, in the given order"),
      command->add_flag("--count", options->count, "Print only the number of hosts"),
      command->add_flag("--json", options->json, "Print names, slots, user and port as JSON"),
      command->add_option("--format", options->dialect, "Print a host file in this format")
          ->check(CLI::IsMember(dialects()))
          ->type_name("FORMAT"),
      add_terraform_flags(*command, *options)};
  for (std::size_t i = 0; i < forms.size(); ++i) {
    forms[i]->group("Output (one of)");
    for (std::size_t j = 0; j < i; ++j) forms[i]->excludes(forms[j]);
  }
  command->callback([options, &action] { action = [options] { return show_hosts(*options); }; });
}

}  // namespace muster::cli
