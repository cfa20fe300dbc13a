#include "setup/setup.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "remote/ssh.hpp"
#include "setup/client_config.hpp"
#include "setup/host_script.hpp"
#include "setup/launcher.hpp"
#include "setup/login.hpp"
#include "setup/mesh.hpp"

namespace muster::setup {
namespace {

// Generous, because 64 logins at a time keep a small launcher busy. For a dead host, ssh gives up
// connecting much earlier.
constexpr std::chrono::minutes kCheckDeadline{2};

// A missing key, or one that ssh would reject, must stop setup before anything is changed.
Result<void> check_private(const std::string& file, std::string hint) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "there is no such key",
                            .where = {.file = file},
                            .hint = std::move(hint)});
  }
  if ((status.st_mode & 077) == 0) return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "other users can read this private key, so ssh refuses to use it",
                          .where = {.file = file},
                          .hint = "chmod 600 " + file});
}

// One run of setup: the requested hosts, and what is known about each.
class Run {
 public:
  Run(Launcher launcher, SetupRequest request, Person& person)
      : launcher_(std::move(launcher)), request_(std::move(request)), person_(person) {}

  Result<SetupResult> carry_out();
  Result<SetupResult> foretell();

 private:
  struct Target {
    Entry entry;
    bool known = false;  // already set up in the same way, so the key should work
    bool entered = false;
    HostResult result;
  };

  [[nodiscard]] Result<void> read_hosts();
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] Result<std::shared_ptr<const std::string>> script_for(const Entry& entry, bool dry);
  [[nodiscard]] Result<std::vector<Errand>> errands(const std::vector<Target*>& targets, bool dry);
  [[nodiscard]] Result<void> visit_known();
  [[nodiscard]] Result<void> visit_new();
  [[nodiscard]] Result<void> write_plan();
  [[nodiscard]] Result<void> write_outcome();
  void check();
  [[nodiscard]] Result<void> connect_hosts();
  [[nodiscard]] std::vector<Target*> all(bool (*which)(const Target&));
  void note(const Visit& visit);
  [[nodiscard]] SetupResult result();

  Launcher launcher_;
  SetupRequest request_;
  Person& person_;
  std::vector<Entry> old_;
  std::vector<Target> targets_;
  // Host name to index in targets_.
  std::unordered_map<std::string, std::size_t> places_;
  std::map<std::string, std::shared_ptr<const std::string>> scripts_;  // by key file
  std::vector<KeyOffer> offers_;
  std::vector<std::string> notes_;
};

Result<void> Run::read_hosts() {
  MUSTER_TRY(old_, launcher_.read_entries());
  std::unordered_map<std::string, const Entry*> old;
  for (const Entry& entry : old_) old.emplace(entry.name, &entry);
  for (const hosts::Host& host : request_.cluster.hosts) {
    const Entry wanted{host.name, request_.cluster.user, request_.cluster.port, request_.key};
    MUSTER_CHECK(check_entry(wanted));
    const auto before = old.find(host.name);
    std::vector<Entry> merged =
        before == old.end() ? std::vector<Entry>() : std::vector<Entry>{*before->second};
    merged = merge(std::move(merged), {&wanted, 1});
    Target target{.entry = merged.front(), .result = {.host = host.name}};
    target.known =
        before != old.end() && *before->second == target.entry && launcher_.has_pin(host.name);
    places_.emplace(host.name, targets_.size());
    targets_.push_back(std::move(target));
  }
  return request_.host_to_host ? check_mesh(entries()) : Result<void>();
}

std::vector<Entry> Run::entries() const {
  std::vector<Entry> entries;
  for (const Target& target : targets_) entries.push_back(target.entry);
  return entries;
}

Result<std::shared_ptr<const std::string>> Run::script_for(const Entry& entry, bool dry) {
  auto& script = scripts_[entry.key];
  if (!script) {
    MUSTER_TRY(const std::string key, launcher_.public_key(launcher_.key_of(entry)));
    script = std::make_shared<const std::string>(install_script(key, dry));
  }
  return script;
}

Result<std::vector<Errand>> Run::errands(const std::vector<Target*>& targets, bool dry) {
  std::vector<Errand> errands;
  for (const Target* target : targets) {
    MUSTER_TRY(auto script, script_for(target->entry, dry));
    errands.push_back({target->entry, std::move(script)});
  }
  return errands;
}

std::vector<Run::Target*> Run::all(bool (*which)(const Target&)) {
  std::vector<Target*> found;
  for (Target& target : targets_) {
    if (which(target)) found.push_back(&target);
  }
  return found;
}

void Run::note(const Visit& visit) {
  Target& target = targets_[places_.at(visit.host)];
  target.entered = target.entered || visit.entered();
  target.result.error = visit.error;
  auto& changes = target.result.changes;
  changes.insert(changes.end(), visit.report.changes.begin(), visit.report.changes.end());
}

Result<void> Run::visit_known() {
  MUSTER_TRY(const auto known, errands(all([](const Target& t) { return t.known; }), false));
  for (const Visit& visit : visit_by_key(launcher_, known, true)) {
    // Somebody removed our key on that host, so it needs a first login again.
    if (visit.denied) targets_[places_.at(visit.host)].known = false;
    note(visit);
  }
  return {};
}

Result<void> Run::visit_new() {
  MUSTER_TRY(const auto fresh, errands(all([](const Target& t) { return !t.known; }), false));
  if (fresh.empty()) return {};
  DoorPolicy policy{.accept_all = request_.accept_all,
                    .expected = std::move(request_.fingerprints),
                    .password = std::move(request_.password)};
  MUSTER_TRY(FirstVisits visits,
             visit_first(launcher_, fresh, request_.identity, std::move(policy), person_));
  for (const Visit& visit : visits.visits) note(visit);
  offers_ = std::move(visits.offers);
  std::sort(offers_.begin(), offers_.end(), [this](const KeyOffer& a, const KeyOffer& b) {
    return places_.at(a.host) < places_.at(b.host);
  });
  return {};
}

// Puts every host on the list before the first login to it. Otherwise, after an interruption, undo
// would miss hosts that were changed already. The configuration is written later, because it would
// prevent a first login with the user's own keys.
Result<void> Run::write_plan() {
  MUSTER_CHECK(launcher_.write_list(merge(old_, entries())));
  // After an interrupted setup, the configuration may lack hosts that are on the list.
  const bool any_known = std::any_of(targets_.begin(), targets_.end(),
                                     [](const Target& target) { return target.known; });
  return any_known ? launcher_.write_config(old_) : Result<void>();
}

// Removes from the list the hosts to which no login succeeded.
Result<void> Run::write_outcome() {
  std::vector<Entry> entered;
  for (const Target& target : targets_) {
    if (target.entered) entered.push_back(target.entry);
  }
  const std::vector<Entry> entries = merge(old_, entered);
  MUSTER_CHECK(launcher_.write_list(entries));
  return entered.empty() ? Result<void>() : launcher_.write_config(entries);
}

// Tests each host in the way in which all later commands reach it: with the key, over the shared
// connection, which then stays open.
void Run::check() {
  std::vector<remote::Task> tasks;
  for (const Target& target : targets_) {
    if (!target.result.error && !target.known)
      tasks.push_back({.host = target.entry.name, .command = "true"});
  }
  remote::Ssh ssh({.user = request_.cluster.user, .port = request_.cluster.port});
  for (const remote::Outcome& outcome : ssh.run(tasks, kCheckDeadline)) {
    if (outcome.ended && outcome.ended->ok()) continue;
    HostResult& result = targets_[places_.at(outcome.host)].result;
    Error cause =
        outcome.ended ? Error{.what = sys::to_text(*outcome.ended)} : outcome.ended.error();
    cause.where = {};
    result.error =
        because(std::move(cause), "muster installed the key, but the host does not accept it");
    result.error->code = ErrorCode::kUnreachable;
    result.error->where.host = outcome.host;
    result.error->hint =
        "see the log of sshd on the host; common causes are AuthorizedKeysFile, "
        "PubkeyAuthentication and the modes of the directories above the home directory";
  }
}

Result<void> Run::connect_hosts() {
  std::vector<Entry> entries;
  for (const Target& target : targets_) {
    if (!target.result.error) entries.push_back(target.entry);
  }
  if (entries.size() < 2) {
    notes_.emplace_back(
        "host-to-host: fewer than two hosts are set up, so there is nothing to connect");
    return {};
  }
  MUSTER_TRY(MeshResult mesh, connect_mesh(launcher_, entries));
  for (const Visit& visit : mesh.visits) note(visit);
  notes_.push_back(mesh.note);
  return {};
}

SetupResult Run::result() {
  SetupResult result{.launcher = launcher_.changes(), .keys = offers_, .notes = notes_};
  for (Target& target : targets_) result.hosts.push_back(std::move(target.result));
  return result;
}

Result<SetupResult> Run::carry_out() {
  MUSTER_CHECK(read_hosts());
  if (!request_.key.empty()) {
    MUSTER_CHECK(
        check_private(request_.key, "create a key: ssh-keygen -t ed25519 -f " + request_.key));
    MUSTER_CHECK(launcher_.public_key(request_.key));
  }
  if (!request_.identity.empty()) {
    MUSTER_CHECK(check_private(request_.identity,
                               "--identity must name a private key that the hosts accept"));
  }
  MUSTER_TRY(const sys::Fd lock, launcher_.prepare());
  MUSTER_CHECK(launcher_.ensure_key(launcher_.cluster_key(), "muster"));
  stop_sharing(entries());
  MUSTER_CHECK(write_plan());
  MUSTER_CHECK(visit_known());
  MUSTER_CHECK(visit_new());
  MUSTER_CHECK(write_outcome());
  check();
  if (request_.host_to_host) MUSTER_CHECK(connect_hosts());
  return result();
}

Result<SetupResult> Run::foretell() {
  MUSTER_CHECK(read_hosts());
  MUSTER_TRY(std::vector<std::string> here, launcher_.foretell(false));
  const auto known = all([](const Target& t) { return t.known; });
  MUSTER_TRY(const auto visits, errands(known, true));
  for (const Visit& visit : visit_by_key(launcher_, visits, false)) note(visit);
  for (Target* target : all([](const Target& t) { return !t.known; })) {
    target->result.changes.emplace_back(
        "would log in for the first time, pin the host key, add the key to ~/.ssh/authorized_keys "
        "and correct file modes");
    here.push_back("would pin the host key of " + target->entry.name);
  }
  if (request_.host_to_host) {
    notes_.emplace_back(
        "host-to-host: would create ~/.ssh/muster-mesh on every host, and an Include in "
        "~/.ssh/config");
  }
  SetupResult all_results = result();
  all_results.launcher = std::move(here);
  return all_results;
}

}  // namespace

Result<SetupResult> set_up(SetupRequest request, Person& person) {
  if (request.cluster.hosts.empty()) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "there are no hosts to set up",
                            .hint = "name hosts: muster setup -H node1,node2"});
  }
  MUSTER_TRY(Launcher launcher, Launcher::open());
  const bool dry = request.dry_run;
  Run run(std::move(launcher), std::move(request), person);
  return dry ? run.foretell() : run.carry_out();
}

}  // namespace muster::setup
