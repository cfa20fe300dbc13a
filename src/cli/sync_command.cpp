#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/this_machine.hpp"
#include "remote/distribute.hpp"
#include "remote/grouped.hpp"
#include "remote/outcome.hpp"
#include "remote/ssh.hpp"
#include "remote/sync.hpp"
#include "sys/print.hpp"
#include "sys/tree.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

struct SyncRequest {
  ClusterOptions cluster;
  std::string folder;
  std::string to;
  bool remove = false;
  bool checksum = false;
  bool dry_run = false;
  std::chrono::seconds::rep timeout_s = 86400;
  std::size_t fan_out = 16;
};

Result<void> check_source(const std::string& folder) {
  MUSTER_TRY(const auto unreadable, sys::unreadable_below(folder));
  if (unreadable.empty()) return {};
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = unreadable.size() == 1
                  ? "muster cannot read this file and therefore cannot send it"
                  : fmt::format(
                        "muster cannot read this file and {} more, and therefore cannot send them",
                        unreadable.size() - 1),
      .where = {.file = unreadable.front()},
      .hint = "make the files readable for your user, or move them out of the directory"});
}

Result<remote::SyncOptions> sync_options(const SyncRequest& request) {
  std::error_code code;
  const auto from = std::filesystem::absolute(request.folder, code).lexically_normal();
  remote::SyncOptions options{.from = from.string(),
                              .remove = request.remove,
                              .checksum = request.checksum,
                              .dry_run = request.dry_run};
  MUSTER_TRY(options.to, remote::target_folder(options.from, request.to, request.remove));
  return options;
}

void print_changes(const remote::SyncOptions& options, std::span<const remote::Outcome> outcomes) {
  std::vector<std::string> texts;
  std::vector<remote::Said> said;
  texts.reserve(outcomes.size());
  for (const remote::Outcome& outcome : outcomes) {
    if (!outcome.ended) continue;
    const auto changes = remote::parse_stats(outcome.ended->out);
    texts.push_back((changes ? to_text(*changes) : "done; rsync printed no statistics") + "\n");
    if (options.dry_run) texts.back() += remote::listing(outcome.ended->out);
    said.push_back({.host = outcome.host, .text = texts.back()});
  }
  for (const remote::Group& group : remote::group_equal(said)) {
    sys::print_out("{}: {}{}", remote::folded(group.hosts), options.dry_run ? "(dry run) " : "",
                   group.text);
  }
}

Result<int> sync(const SyncRequest& request) {
  MUSTER_TRY(const remote::SyncOptions options, sync_options(request));
  MUSTER_CHECK(check_source(options.from));
  MUSTER_TRY(hosts::Cluster cluster, read_cluster(request.cluster));
  MUSTER_TRY(const std::string here, find_this_machine(cluster, NamedTwice::kOverSsh));
  std::vector<std::string> names;
  for (const hosts::Host& host : cluster.hosts) names.push_back(host.name);
  remote::Ssh ssh({.user = cluster.user, .port = cluster.port, .this_machine = here});
  MUSTER_TRY(const std::vector<remote::Outcome> outcomes,
             remote::distribute({.options = options,
                                 .this_machine = here,
                                 .timeout = std::chrono::seconds(request.timeout_s),
                                 .fan_out = request.fan_out},
                                ssh, names));
  print_changes(options, outcomes);
  sys::write_err(remote::failures_text(outcomes));
  const remote::Conclusion conclusion = remote::conclusion(outcomes);
  return conclusion.failure ? exit_code(*conclusion.failure) : 0;
}

constexpr auto kAbout = "Copy a directory to all hosts, sending only what changed";

constexpr auto kMoreOfSync =
    "The directory gets the same path on the hosts unless you pass --to. Unlike with rsync, a "
    "slash at the end of a path makes no difference.\n\n"
    "Examples:\n"
    "  muster sync -H node1,node2 .\n"
    "  muster sync -H 'node[01-16]' --delete --dry-run ~/project";

}  // namespace

void add_sync(CLI::App& app, Action& action) {
  auto request = std::make_shared<SyncRequest>();
  CLI::App* command = app.add_subcommand("sync", kAbout);
  command->footer(kMoreOfSync);
  add_cluster_options(*command, request->cluster);
  command->add_option("DIRECTORY", request->folder, "Directory on this machine")->required();
  command
      ->add_option("--to", request->to,
                   "Directory on the hosts; a relative path starts in the home directory")
      ->type_name("PATH");
  command->add_flag(
      "--delete", request->remove,
      "Delete files from the hosts' copies that do not exist in the directory on this machine");
  command->add_flag("--checksum", request->checksum,
                    "Compare file contents instead of sizes and modification times");
  command->add_flag("--dry-run", request->dry_run, "Show what would change, without changing it");
  trainflags::takes_duration(
      command->add_option("--timeout", request->timeout_s, "Give up on a host after this time"), 1)
      ->capture_default_str();
  command->add_option("--fan-out", request->fan_out, "Number of hosts to copy to at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->callback([request, &action] { action = [request] { return sync(*request); }; });
}

}  // namespace muster::cli
