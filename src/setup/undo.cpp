#include "setup/undo.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "remote/ssh.hpp"
#include "setup/host_script.hpp"
#include "setup/launcher.hpp"
#include "setup/login.hpp"

namespace muster::setup {
namespace {

Error not_set_up(const std::string& host) {
  return {.code = ErrorCode::kUsage,
          .what = "this host was not set up from this machine",
          .where = {.host = host},
          .hint = "to see the hosts that were set up from this machine: cat ~/.ssh/muster/hosts"};
}

HostResult result_of(const Visit& visit) {
  HostResult result{.host = visit.host, .changes = visit.report.changes, .error = visit.error};
  if (result.error) {
    result.error->hint += fmt::format(
        "{}the host stays on muster's list; if it no longer exists: muster setup --undo --forget "
        "{}",
        result.error->hint.empty() ? "" : "; ", visit.host);
  }
  return result;
}

// The entries that the request names. Each name without an entry gets a result with an error.
std::vector<Entry> chosen(const std::vector<Entry>& entries, const UndoRequest& request,
                          SetupResult& result) {
  std::unordered_set<std::string> wanted(request.hosts.begin(), request.hosts.end());
  const std::unordered_set<std::string> given_up(request.given_up.begin(), request.given_up.end());
  const bool all = request.hosts.empty() && request.given_up.empty();
  std::vector<Entry> found;
  for (const Entry& entry : entries) {
    const bool named = wanted.erase(entry.name) != 0 || all;
    if (named && given_up.count(entry.name) == 0) found.push_back(entry);
  }
  for (const std::string& host : request.hosts) {
    if (wanted.count(host) != 0) result.hosts.push_back({.host = host, .error = not_set_up(host)});
  }
  return found;
}

// The public keys that setup may have added from here: the cluster's, and those given by --key.
std::vector<std::string> our_keys(const Launcher& launcher, std::span<const Entry> entries) {
  std::set<std::string> files = {launcher.cluster_key()};
  for (const Entry& entry : entries) files.insert(launcher.key_of(entry));
  std::vector<std::string> keys;
  for (const std::string& file : files) {
    if (auto key = launcher.public_key(file)) keys.push_back(*std::move(key));
  }
  return keys;
}

std::vector<Errand> undo_errands(const Launcher& launcher, std::span<const Entry> entries,
                                 bool dry) {
  const auto script = std::make_shared<const std::string>(
      undo_script(Place::kHost, dry, our_keys(launcher, entries)));
  std::vector<Errand> errands;
  for (const Entry& entry : entries) errands.push_back({entry, script});
  return errands;
}

// Closes the connections to these hosts and removes them from the launcher's files.
Result<void> let_go(Launcher& launcher, std::vector<Entry> entries,
                    const std::unordered_set<std::string>& gone) {
  std::vector<std::string> names(gone.begin(), gone.end());
  remote::Ssh({}).disconnect(names);
  for (const std::string& name : names) launcher.remove_pin(name);
  std::erase_if(entries, [&gone](const Entry& entry) { return gone.count(entry.name) != 0; });
  if (entries.empty()) return launcher.undo();
  MUSTER_CHECK(launcher.write_list(entries));
  return launcher.write_config(entries);
}

}  // namespace

Result<SetupResult> undo(const UndoRequest& request) {
  MUSTER_TRY(Launcher launcher, Launcher::open());
  MUSTER_TRY(const std::vector<Entry> entries, launcher.read_entries());
  SetupResult result;
  const std::vector<Entry> meant = chosen(entries, request, result);
  if (request.dry_run) {
    for (const Visit& visit : visit_by_key(launcher, undo_errands(launcher, meant, true), false)) {
      result.hosts.push_back(result_of(visit));
    }
    if (meant.size() == entries.size()) {
      MUSTER_TRY(result.launcher, launcher.foretell(true));
    }
    return result;
  }
  if (!sys::exists(launcher.folder())) {
    result.notes.emplace_back("no host was set up from this machine");
    return result;
  }
  MUSTER_TRY(const sys::Fd lock, launcher.prepare());
  // An interrupted setup leaves only the list, without the configuration.
  if (!entries.empty()) MUSTER_CHECK(launcher.write_config(entries));
  // If the hosts share a home folder, undoing the first host removes the key from all of them. So
  // first open a connection to every host, with a dry run.
  (void)visit_by_key(launcher, undo_errands(launcher, meant, true), true);
  std::unordered_set<std::string> gone(request.given_up.begin(), request.given_up.end());
  for (const Visit& visit : visit_by_key(launcher, undo_errands(launcher, meant, false), true)) {
    result.hosts.push_back(result_of(visit));
    if (!visit.error) gone.insert(visit.host);
  }
  MUSTER_CHECK(let_go(launcher, entries, gone));
  result.launcher = launcher.changes();
  return result;
}

Result<SetupResult> forget(std::span<const std::string> hosts, bool dry_run) {
  MUSTER_TRY(Launcher launcher, Launcher::open());
  SetupResult result;
  for (const std::string& host : hosts) {
    HostResult one{.host = host};
    const Result<void> named = check_name(host);
    const auto key = named ? launcher.pinned_key(host) : std::nullopt;
    if (key) {
      one.changes.push_back(
          fmt::format("forgot the pinned key {} {}", key->type, key->fingerprint));
      if (!dry_run) launcher.remove_pin(host);
    } else {
      one.error = Error{.code = ErrorCode::kUsage,
                        .what = "no key is pinned for this host",
                        .where = {.host = host}};
    }
    result.hosts.push_back(std::move(one));
  }
  return result;
}

}  // namespace muster::setup
