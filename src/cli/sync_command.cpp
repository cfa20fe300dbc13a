#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/size_text.hpp"
#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/this_machine.hpp"
#include "remote/bring_back.hpp"
#include "remote/distribute.hpp"
#include "remote/grouped.hpp"
#include "remote/leg.hpp"
#include "remote/outcome.hpp"
#include "remote/ssh.hpp"
#include "remote/sync.hpp"
#include "sys/live_line.hpp"
#include "sys/print.hpp"
#include "sys/tree.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kNamed = 3;  // how many files are named in one message

struct SyncRequest {
  ClusterOptions cluster;
  std::string folder;
  std::string to;
  std::string back;  // directory on this machine; empty: copy to the hosts
  bool per_host = false;
  bool remove = false;
  bool checksum = false;
  bool dry_run = false;
  bool spread = false;
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

std::string first_of(std::span<const std::string> names) {
  return fmt::format(
      "{}{}", fmt::join(names.first(std::min(names.size(), kNamed)), ", "),
      names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "");
}

using Earlier = std::map<std::string, remote::Changes>;

// What was copied to or from a host, or would be with --dry-run.
std::string changes_text(const remote::Outcome& outcome, bool dry_run, const Earlier& earlier) {
  if (remote::has_nothing(outcome)) return "nothing to bring back\n";
  auto changes = remote::parse_stats(outcome.ended->out);
  const auto before = earlier.find(outcome.host);
  if (changes && before != earlier.end()) *changes += before->second;
  std::string text = changes ? to_text(*changes) : "done; rsync printed no statistics";
  if (const auto names = remote::left_out(outcome.ended->out); !names.empty()) {
    text += fmt::format("; left out, because they are links or special files: {}", first_of(names));
  }
  return text + "\n" + (dry_run ? remote::listing(outcome.ended->out) : "");
}

void print_changes(bool dry_run, std::span<const remote::Outcome> outcomes,
                   const Earlier& earlier) {
  std::vector<std::string> texts;
  std::vector<remote::Said> said;
  texts.reserve(outcomes.size());
  for (const remote::Outcome& outcome : outcomes) {
    if (!outcome.ended) continue;
    texts.push_back(changes_text(outcome, dry_run, earlier));
    said.push_back({.host = outcome.host, .text = texts.back()});
  }
  for (const remote::Group& group : remote::group_equal(said)) {
    sys::print_out("{}: {}{}", remote::folded(group.hosts), dry_run ? "(dry run) " : "",
                   group.text);
  }
}

int conclude(bool dry_run, std::vector<remote::Outcome> outcomes, const Earlier& earlier = {}) {
  print_changes(dry_run, outcomes, earlier);
  for (remote::Outcome& outcome : outcomes) {
    // No failure, because another host has the file.
    if (remote::has_nothing(outcome)) outcome.ended->code = 0;
  }
  sys::write_err(remote::failures_text(outcomes));
  const remote::Conclusion conclusion = remote::conclusion(outcomes);
  return conclusion.failure ? exit_code(*conclusion.failure) : 0;
}

// Prints "HOSTS WHAT: TEXT" for each text, with the hosts that have it in common.
void print_notes(std::string_view what, std::span<const remote::SpreadReport::Note> notes) {
  std::vector<remote::Said> said;
  for (const auto& note : notes) said.push_back({.host = note.host, .text = note.text});
  for (const remote::Group& group : remote::group_equal(said)) {
    sys::print_err("muster: sync: {}{}: {}\n", remote::folded(group.hosts), what, group.text);
  }
}

void print_not_removed(const remote::SpreadReport& report) {
  for (const auto& [host, folder] : report.not_removed) {
    sys::print_err(
        "muster: sync: {0}: the temporary directory {1} may be left there\n"
        "    hint: muster exec -H {0} -- rm -rf {1}\n",
        host, folder);
  }
}

// Says who sent what, and what went wrong on the way. Returns the exit code if the copies could not
// be verified.
int print_spread(remote::SpreadReport report) {
  const auto sent = [](std::string_view from, std::uint64_t bytes,
                       const std::vector<std::string>& hosts) {
    if (hosts.empty()) return;
    sys::print_err("muster: sync: {} sent {} to {}\n", from, file_size_text(bytes),
                   remote::folded(hosts));
  };
  sent("this machine", report.bytes_from_here, report.from_here);
  sent("other hosts", report.bytes_from_hosts, report.from_hosts);
  print_notes(" got no files from other hosts", report.failures);
  const auto is_login = [](const auto& note) {
    return note.text.starts_with(remote::kCannotLogIn);
  };
  if (std::any_of(report.failures.begin(), report.failures.end(), is_login)) {
    sys::print_err("    hint: muster setup --host-to-host lets hosts log in to each other\n");
  }
  for (auto& note : report.repaired) {
    std::vector<std::string> names;
    for (const auto part : std::views::split(note.text, '\n')) {
      const std::string_view name(part.begin(), part.end());
      if (!name.empty() && name.back() != '/') names.emplace_back(name);
    }
    note.text = names.empty()
                    ? "the content of the copy differed, but rsync found nothing to send again"
                    : "the content of the copy differed; sent again: " + first_of(names);
  }
  print_notes("", report.repaired);
  print_not_removed(report);
  if (report.changed_here.empty()) return 0;
  sys::print_err(
      "muster: sync: these files changed here while muster copied them, so it cannot verify the "
      "copies: {}\n    hint: run the command again when nothing writes to the directory\n",
      first_of(report.changed_here));
  return exit_code(ErrorCode::kSystem);
}

Result<int> send_out(const SyncRequest& request) {
  MUSTER_TRY(const remote::SyncOptions options, sync_options(request));
  MUSTER_CHECK(check_source(options.from));
  MUSTER_TRY(SshHosts hosts, find_ssh_hosts(request.cluster));
  if (request.spread) hosts.ssh.fan_out = std::min(hosts.ssh.fan_out, request.fan_out);
  remote::Ssh ssh(hosts.ssh);
  sys::Progress progress;
  remote::SpreadReport report;
  auto outcomes = remote::distribute({.options = options,
                                      .this_machine = hosts.ssh.this_machine,
                                      .timeout = std::chrono::seconds(request.timeout_s),
                                      .fan_out = request.fan_out,
                                      .spread = request.spread ? &report : nullptr,
                                      .on_progress = progress.shown()},
                                     ssh, hosts.names);
  if (!outcomes && report.signal == 0) return unexpected(std::move(outcomes).error());
  if (!outcomes) {
    sys::print_err("muster: {}\n", to_text(outcomes.error()));
    print_not_removed(report);
    return 128 + report.signal;
  }
  const int code = conclude(options.dry_run, *std::move(outcomes), report.earlier);
  const int unverified = print_spread(std::move(report));
  return code != 0 ? code : unverified;
}

std::string absolute(const std::string& path) {
  std::error_code code;
  std::string result = std::filesystem::absolute(path, code).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

Result<int> bring_back(const SyncRequest& request) {
  const std::string to = absolute(request.back);
  const std::string from = request.folder.empty() ? to : absolute(request.folder);
  if (request.per_host && from == to) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = "with --per-host, the directory on the hosts needs another path than the one here",
        .hint = "name both: muster sync --per-host --back DIR /path/on/the/hosts"});
  }
  MUSTER_TRY(const SshHosts hosts, find_ssh_hosts(request.cluster));
  remote::Ssh ssh(hosts.ssh);
  sys::Progress progress;
  int signal = 0;
  auto outcomes = remote::bring_back({.from = from,
                                      .to = to,
                                      .per_host = request.per_host,
                                      .checksum = request.checksum,
                                      .dry_run = request.dry_run,
                                      .this_machine = hosts.ssh.this_machine,
                                      .timeout = std::chrono::seconds(request.timeout_s),
                                      .fan_out = request.fan_out,
                                      .on_progress = progress.shown()},
                                     ssh, hosts.names, signal);
  if (outcomes) return conclude(request.dry_run, *std::move(outcomes));
  if (signal == 0) return unexpected(std::move(outcomes).error());
  sys::print_err("muster: {}\n", to_text(outcomes.error()));
  return 128 + signal;
}

Result<int> sync(const SyncRequest& request) {
  if (!request.back.empty()) return bring_back(request);
  if (!request.folder.empty()) return send_out(request);
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "DIRECTORY is required",
                          .hint = "for example: muster sync -H node1,node2 ."});
}

constexpr auto kAbout = "Copy a directory to all hosts, or back, sending only what changed";

constexpr auto kMoreOfSync =
    "The directory gets the same path on the hosts unless you pass --to. Unlike with rsync, a "
    "slash at the end of a path makes no difference.\n\n"
    "With --back, muster copies from the hosts to DIR on this machine and merges their files. "
    "DIRECTORY is then the directory on the hosts; without it, it has the path of DIR.\n\n"
    "Examples:\n"
    "  muster sync -H node1,node2 .\n"
    "  muster sync -H 'node[01-16]' --delete --dry-run ~/project\n"
    "  muster sync -H node1,node2 --back results --per-host ~/project/out";

}  // namespace

void add_sync(CLI::App& app, Action& action) {
  auto request = std::make_shared<SyncRequest>();
  CLI::App* command = app.add_subcommand("sync", kAbout);
  command->footer(kMoreOfSync);
  add_cluster_options(*command, request->cluster);
  command->add_option("DIRECTORY", request->folder,
                      "Directory on this machine, or with --back on the hosts");
  auto* to =
      command
          ->add_option("--to", request->to,
                       "Directory on the hosts; a relative path starts in the home directory")
          ->type_name("PATH");
  auto* remove = command->add_flag(
      "--delete", request->remove,
      "Delete files from the hosts' copies that do not exist in the directory on this machine");
  auto* back = command
                   ->add_option("--back", request->back,
                                "Copy from the hosts to this directory on this machine")
                   ->type_name("DIR")
                   ->excludes(to)
                   ->excludes(remove);
  command
      ->add_flag("--per-host", request->per_host,
                 "With --back: one directory per host, DIR/HOST, instead of merging the files")
      ->needs(back);
  command->add_flag("--checksum", request->checksum,
                    "Compare file contents instead of sizes and modification times");
  auto* dry_run = command->add_flag("--dry-run", request->dry_run,
                                    "Show what would change, without changing it");
  command
      ->add_flag("--spread", request->spread,
                 "Let hosts that have the files send them to other hosts, and verify all copies")
      ->excludes(back)
      ->excludes(dry_run);
  trainflags::takes_duration(
      command->add_option("--timeout", request->timeout_s, "Give up on a host after this time"), 1)
      ->capture_default_str();
  command->add_option("--fan-out", request->fan_out, "Number of hosts to copy to at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->callback([request, &action] { action = [request] { return sync(*request); }; });
}

}  // namespace muster::cli
