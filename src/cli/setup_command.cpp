#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "cli/bundle_command.hpp"
#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "remote/grouped.hpp"
#include "setup/password.hpp"
#include "setup/setup.hpp"
#include "setup/undo.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct SetupOptions {
  ClusterOptions cluster;
  BundleRequest bundle;
  bool hosts_given = false;
  std::string key;
  std::string identity;
  std::string password_file;
  std::string fingerprints;
  std::vector<std::string> forget;
  bool yes = false;
  bool host_to_host = false;
  bool dry_run = false;
  bool undo = false;
  bool json = false;
};

// Says what happened on one host.
std::string told(const setup::HostResult& result, bool dry_run) {
  std::string text;
  for (const std::string& change : result.changes) text += fmt::format("  {}\n", change);
  if (result.error) {
    Error error = *result.error;
    error.where.host.clear();  // the heading names the host
    return text + "  FAILED: " + to_text(error) + "\n";
  }
  if (!text.empty()) return text;
  return dry_run ? "  nothing would change\n" : "  ok, nothing to change\n";
}

void print_text(const setup::SetupResult& result, bool dry_run) {
  if (dry_run) sys::print_out("Dry run: nothing was changed. These changes would be made:\n");
  if (!result.launcher.empty()) {
    sys::print_out("this machine:\n");
    for (const std::string& change : result.launcher) sys::print_out("  {}\n", change);
  }
  std::vector<std::string> texts;  // reports of the hosts; most are equal
  std::vector<remote::Said> said;
  texts.reserve(result.hosts.size());
  for (const setup::HostResult& host : result.hosts) {
    texts.push_back(told(host, dry_run));
    said.push_back({.host = host.host, .text = texts.back()});
  }
  for (const remote::Group& group : remote::group_equal(said)) {
    sys::print_out("{}:\n{}", remote::folded(group.hosts), group.text);
  }
  for (const std::string& note : result.notes) sys::print_out("{}\n", note);
}

void print_json(const setup::SetupResult& result) {
  nlohmann::json hosts = nlohmann::json::array();
  for (const setup::HostResult& host : result.hosts) {
    nlohmann::json one = {{"host", host.host}, {"ok", !host.error}, {"changes", host.changes}};
    if (host.error) one["error"] = {{"what", host.error->what}, {"hint", host.error->hint}};
    hosts.push_back(std::move(one));
  }
  nlohmann::json keys = nlohmann::json::array();
  for (const setup::KeyOffer& offer : result.keys) {
    keys.push_back({{"host", offer.host},
                    {"address", offer.address},
                    {"type", offer.key.type},
                    {"fingerprint", offer.key.fingerprint}});
  }
  const nlohmann::json all = {{"launcher", {{"changes", result.launcher}}},
                              {"hosts", hosts},
                              {"host_keys", keys},
                              {"notes", result.notes}};
  sys::print_out("{}\n", json_text(all, 2));
}

// `keys_shown` means that the user has just seen and accepted the new host keys.
Result<int> conclude(const setup::SetupResult& result, const SetupOptions& options,
                     bool keys_shown = false) {
  if (!options.json && !result.keys.empty() && !keys_shown) {
    sys::print_out("host keys seen for the first time:\n{}", setup::offers_table(result.keys));
  }
  options.json ? print_json(result) : print_text(result, options.dry_run);
  std::size_t failed = 0;
  for (const setup::HostResult& host : result.hosts) failed += host.error ? 1 : 0;
  if (failed == 0) return 0;
  return unexpected(Error{.code = ErrorCode::kUnreachable,
                          .what = fmt::format("{} of {} hosts failed; see the reasons above",
                                              failed, result.hosts.size())});
}

Result<int> undo(const SetupOptions& options) {
  setup::UndoRequest request{.hosts = {}, .given_up = options.forget, .dry_run = options.dry_run};
  if (options.hosts_given) {
    MUSTER_TRY(const hosts::Cluster cluster, read_cluster(options.cluster));
    for (const hosts::Host& host : cluster.hosts) request.hosts.push_back(host.name);
  }
  MUSTER_TRY(const setup::SetupResult result, setup::undo(request));
  return conclude(result, options);
}

Result<int> set_up(const SetupOptions& options) {
  MUSTER_TRY(hosts::Cluster cluster, read_cluster(options.cluster));
  setup::SetupRequest request{.cluster = std::move(cluster),
                              .key = options.key,
                              .identity = options.identity,
                              .accept_all = options.yes,
                              .host_to_host = options.host_to_host,
                              .dry_run = options.dry_run};
  if (!options.password_file.empty()) {
    MUSTER_TRY(request.password, setup::read_password(options.password_file));
  }
  if (!options.fingerprints.empty()) {
    MUSTER_TRY(request.fingerprints, setup::read_fingerprints(options.fingerprints));
  }
  setup::TerminalPerson person;
  MUSTER_TRY(const setup::SetupResult result, setup::set_up(std::move(request), person));
  const bool asked =
      person.present() && !options.yes && options.fingerprints.empty() && !options.dry_run;
  MUSTER_TRY(const int code, conclude(result, options, asked));
  if (!options.json && !options.dry_run) {
    sys::print_out("{} without a password by ssh, muster exec and muster sync\n",
                   result.hosts.size() == 1
                       ? "the host can be reached"
                       : fmt::format("all {} hosts can be reached", result.hosts.size()));
  }
  return code;
}

Result<int> run(const SetupOptions& options) {
  if (!options.bundle.folder.empty()) {
    MUSTER_TRY(const hosts::Cluster cluster, read_cluster(options.cluster));
    return make_bundle(options.bundle, cluster);
  }
  if (options.undo) return undo(options);
  if (!options.forget.empty()) {
    MUSTER_TRY(const setup::SetupResult result, setup::forget(options.forget, options.dry_run));
    return conclude(result, options);
  }
  return set_up(options);
}

void add_flags(CLI::App& command, SetupOptions& options) {
  constexpr auto kLogin = "First login";
  command
      .add_option("--key", options.key,
                  "Private key to use; default: ~/.ssh/muster/id_ed25519, which muster creates if "
                  "it does not exist")
      ->type_name("PATH")
      ->group(kLogin);
  command
      .add_option("--identity", options.identity,
                  "Private key that the hosts already accept, for the first login")
      ->type_name("PATH")
      ->group(kLogin);
  command
      .add_option("--password-file", options.password_file,
                  "File (mode 0600) with the password for the first login, or - to read it from "
                  "stdin; default: muster asks")
      ->type_name("PATH")
      ->group(kLogin);
  auto* fingerprints = command
                           .add_option("--fingerprints", options.fingerprints,
                                       "File with the host keys to accept: lines of the form 'host "
                                       "SHA256:...', or output of ssh-keygen -lf or ssh-keyscan")
                           ->type_name("PATH")
                           ->group(kLogin);
  command
      .add_flag("--yes", options.yes,
                "Accept the hosts' keys without asking; use it only in a network that you trust")
      ->excludes(fingerprints)
      ->group(kLogin);
  command.add_flag(
      "--host-to-host", options.host_to_host,
      "Also let the hosts log in to each other, with a key that works only between them");
  command
      .add_option("--forget", options.forget,
                  "Print and delete the pinned host key of HOST; with --undo: forget a host that "
                  "no longer exists")
      ->type_name("HOST");
  command.add_flag("--undo", options.undo,
                   "Undo what setup did on these hosts, or on all hosts if you name none");
  command.add_flag("--dry-run", options.dry_run, "Show what would change, without changing it");
  command.add_flag("--json", options.json, "Print the result as JSON");
}

// ~/.ssh/muster/config is used from every directory, so its paths must be absolute.
std::string absolute_or_empty(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

void add_setup(CLI::App& app, Action& action) {
  auto options = std::make_shared<SetupOptions>();
  CLI::App* command =
      app.add_subcommand("setup", "Set up passwordless ssh to your hosts, with pinned host keys");
  command->footer(
      "Examples:\n"
      "  muster setup -H node1,node2\n"
      "  muster setup -H 'node[01-16]' --user alice --host-to-host");
  add_cluster_options(*command, options->cluster);
  const std::vector<const CLI::Option*> host_flags =
      std::as_const(*command).get_options([](const CLI::Option* flag) {
        return !flag->check_lname("user") && !flag->check_lname("port") &&
               !flag->check_lname("help");
      });
  add_flags(*command, *options);
  add_bundle_options(*command, options->bundle);
  command->callback([options, host_flags, &action] {
    for (const CLI::Option* flag : host_flags) {
      options->hosts_given = options->hosts_given || flag->count() > 0;
    }
    options->key = absolute_or_empty(options->key);
    options->identity = absolute_or_empty(options->identity);
    action = [options] { return run(*options); };
  });
}

}  // namespace muster::cli
