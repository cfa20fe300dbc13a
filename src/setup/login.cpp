#include "setup/login.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "remote/diagnose.hpp"
#include "remote/ssh.hpp"
#include "setup/askpass.hpp"

namespace muster::setup {
namespace {

constexpr std::chrono::minutes kScriptDeadline{2};
constexpr auto kPersonDeadline = kQuestionsDeadline + kScriptDeadline;

// ssh expands % in IdentityFile values, so % is escaped.
std::string literal_path(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

std::string said(const std::string& err) {
  const std::string text = printable_lines(err);
  return text.empty() ? "" : ": " + text.substr(0, text.find_last_not_of('\n') + 1);
}

Error changed_key(const std::string& host, const std::optional<HostKey>& pinned,
                  const HostKey& presented) {
  const std::string old =
      pinned ? fmt::format("{} {}", pinned->type, pinned->fingerprint) : "unreadable";
  return {.code = ErrorCode::kUnreachable,
          .what = fmt::format("its host key is not the pinned one: pinned {}, presented {} {}", old,
                              presented.type, presented.fingerprint),
          .where = {.host = host},
          .hint = fmt::format("find out why the key changed; if the host was reinstalled, compare "
                              "the fingerprint at its console, then run: muster setup --forget {}",
                              host)};
}

Error denied(const std::string& host, const std::string& err) {
  Error error = remote::unreachable(host, printable_lines(err));
  error.what = "the host accepted none of your keys and did not ask for a password";
  error.hint =
      "pass a key that the host accepts (--identity FILE), or allow password logins in the host's "
      "sshd until the setup is done (PasswordAuthentication yes)";
  return error;
}

Error script_error(const std::string& host, const sys::Ended& ended, const ScriptReport& report) {
  if (report.failure) {
    return {.what = *report.failure,
            .where = {.host = host},
            .hint = "check the owner, the mode and the free space of ~/.ssh on the host"};
  }
  return {.what = fmt::format("the setup on the host did not finish ({}){}", sys::to_text(ended),
                              said(ended.err)),
          .where = {.host = host},
          .hint = "check that `ssh HOST sh` starts a shell on the host"};
}

sys::Command first_command(const Errand& errand, const FirstLogin& login, bool person_present) {
  sys::Command command{.argv = first_login_words(errand.entry, login),
                       .input = errand.script,
                       .deadline = person_present ? kPersonDeadline : kScriptDeadline};
  command.argv.insert(command.argv.end(), {"--", errand.entry.name, std::string(kScriptShell)});
  return command;
}

// If the doorkeeper refused something, uses its reason instead of ssh's message.
Visit with_trouble(Visit visit, std::optional<Trouble> trouble) {
  if (!visit.error || !trouble || (trouble->if_denied && !visit.denied)) return visit;
  visit.denied = false;
  visit.lost = false;
  visit.error = Error{.code = ErrorCode::kUnreachable,
                      .what = std::move(trouble->what),
                      .where = {.host = visit.host},
                      .hint = std::move(trouble->hint)};
  return visit;
}

// The error for a login that worked although nobody accepted the host key: ssh trusted it for
// another reason.
Error not_pinned(const std::string& host) {
  return {.code = ErrorCode::kUnreachable,
          .what = "ssh logged in although nobody accepted the host key, so muster could not pin it",
          .where = {.host = host},
          .hint = fmt::format("a setting of ssh accepts the key; find it with `ssh -G {}`, remove "
                              "it and run muster setup again",
                              host)};
}

// The data shared by all rounds of first logins.
struct FirstRounds {
  const Launcher& launcher;
  const std::string& identity;
  bool has_password = false;
  bool person_present = false;
  std::unordered_map<std::string, HostKey> pinned = {};  // pinned before the first round

  [[nodiscard]] std::vector<Visit> visit(std::span<const Errand> round,
                                         AskpassServer& server) const;
  void repeat_lost(std::span<const Errand> round, std::vector<Visit>& visits,
                   AskpassServer& server) const;
};

std::vector<Visit> FirstRounds::visit(std::span<const Errand> round, AskpassServer& server) const {
  std::vector<std::string> hosts;
  std::vector<sys::Command> commands;
  for (const Errand& errand : round) {
    hosts.push_back(errand.entry.name);
    commands.push_back(first_command(errand,
                                     {.pinned = pinned.count(errand.entry.name) != 0,
                                      .identity = identity,
                                      .only_cluster_key = has_password,
                                      .key = launcher.key_of(errand.entry)},
                                     person_present));
    commands.back().env = server.environment(errand.entry.name);
  }
  server.begin(hosts);
  const auto ended = sys::run_all(
      commands, kAtOnce, [&](std::size_t i, const Result<sys::Ended>&) { server.ended(hosts[i]); });
  std::vector<Visit> visits;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto pin = pinned.find(hosts[i]);
    visits.push_back(
        with_trouble(judge_visit(hosts[i], ended[i],
                                 pin == pinned.end() ? std::nullopt : std::optional(pin->second)),
                     server.trouble(hosts[i])));
  }
  return visits;
}

// If a person takes long to compare keys or to type, sshd closes the connections (LoginGraceTime).
// Once the person has answered, the lost logins can be repeated: once after the host keys and once
// after the password.
void FirstRounds::repeat_lost(std::span<const Errand> round, std::vector<Visit>& visits,
                              AskpassServer& server) const {
  for (int repeat = 0; repeat < 2 && server.person_was_asked(); ++repeat) {
    std::vector<std::size_t> places;
    std::vector<Errand> lost;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      if (!visits[i].lost) continue;
      places.push_back(i);
      lost.push_back(round[i]);
    }
    if (lost.empty()) return;
    std::vector<Visit> again = visit(lost, server);
    for (std::size_t i = 0; i < places.size(); ++i) visits[places[i]] = std::move(again[i]);
  }
}

}  // namespace

std::vector<std::string> first_login_words(const Entry& entry, const FirstLogin& login) {
  std::vector<std::string> words = {"ssh", "-T"};
  const auto set = [&words](std::string setting) {
    words.emplace_back("-o");
    words.push_back(std::move(setting));
  };
  set("BatchMode=no");
  set("StrictHostKeyChecking=ask");
  set("UserKnownHostsFile=~/.ssh/muster/known_hosts.d/" + entry.name);
  set("GlobalKnownHostsFile=/dev/null");  // only keys that are accepted in this login count
  set("HashKnownHosts=no");
  set("UpdateHostKeys=no");
  set("CheckHostIP=no");
  set("VerifyHostKeyDNS=no");
  set("KnownHostsCommand=none");
  // For a pinned host, ssh itself asks for the key type that it knows.
  if (!login.pinned) {
    set("HostKeyAlgorithms=ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"
        "ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256");
  }
  set("PreferredAuthentications=publickey,keyboard-interactive,password");
  set("NumberOfPasswordPrompts=1");
  set("ConnectTimeout=10");
  set("ServerAliveInterval=5");
  set("ControlMaster=no");
  set("ControlPath=none");
  for (const std::string_view setting : remote::kOnlyOurCommand) set(std::string(setting));
  set("LogLevel=ERROR");  // keeps banners out of error messages
  if (!login.identity.empty() || login.only_cluster_key) set("IdentitiesOnly=yes");
  const auto identity = [&words](const std::string& path) {
    words.insert(words.end(), {"-i", literal_path(path)});
  };
  if (!login.identity.empty()) identity(login.identity);
  if (login.only_cluster_key) identity(login.key);
  if (!entry.user.empty()) words.insert(words.end(), {"-l", entry.user});
  if (entry.port != 0) words.insert(words.end(), {"-p", std::to_string(entry.port)});
  return words;
}

Visit judge_visit(const std::string& host, const Result<sys::Ended>& ended,
                  const std::optional<HostKey>& pinned) {
  Visit visit{.host = host};
  if (!ended) {
    visit.error = ended.error();
    return visit;
  }
  visit.report = parse_script_report(ended->out);
  if (visit.report.ended) return visit;
  if (const auto presented = presented_key(ended->err)) {
    visit.error = changed_key(host, pinned, *presented);
  } else if (visit.entered()) {
    // NOLINT(bugprone-branch-clone): the last one is for unforeseen cases.
    visit.error = script_error(host, *ended, visit.report);
  } else if (ended->timed_out) {
    visit.error = Error{.code = ErrorCode::kTimeout,
                        .what = "no answer within the time limit",
                        .where = {.host = host}};
  } else if (const auto known = remote::diagnose(ended->err);
             known && known->id == "ssh-publickey-denied") {
    visit.denied = true;
    visit.error = denied(host, ended->err);
  } else if (ended->code == 255 || ended->signal != 0) {
    visit.lost = !known;
    visit.error = remote::unreachable(host, printable_lines(ended->err));
  } else {
    visit.error = script_error(host, *ended, visit.report);
  }
  return visit;
}

std::vector<Visit> visit_by_key(const Launcher& launcher, std::span<const Errand> errands,
                                bool keep_open) {
  std::vector<sys::Command> commands;
  for (const Errand& errand : errands) {
    sys::Command command{
        .argv = {"ssh", "-T"}, .input = errand.script, .deadline = kScriptDeadline};
    // ssh uses the first value that it finds for an option, so this one must come first.
    if (!keep_open) command.argv.insert(command.argv.end(), {"-o", "ControlMaster=no"});
    const std::vector<std::string> words =
        remote::ssh_words({.user = errand.entry.user, .port = errand.entry.port});
    command.argv.insert(command.argv.end(), words.begin() + 1, words.end());
    command.argv.insert(command.argv.end(), {"--", errand.entry.name, std::string(kScriptShell)});
    commands.push_back(std::move(command));
  }
  const auto results = sys::run_all(commands, kAtOnce);
  std::vector<Visit> visits;
  for (std::size_t i = 0; i < errands.size(); ++i) {
    const std::string& host = errands[i].entry.name;
    const bool failed = !results[i] || !results[i]->ok();
    visits.push_back(
        judge_visit(host, results[i], failed ? launcher.pinned_key(host) : std::nullopt));
  }
  return visits;
}

Result<FirstVisits> visit_first(const Launcher& launcher, std::span<const Errand> errands,
                                const std::string& identity, DoorPolicy policy, Person& person) {
  FirstRounds rounds{.launcher = launcher,
                     .identity = identity,
                     .has_password = policy.password.has_value(),
                     .person_present = person.present()};
  for (const Errand& errand : errands) {
    if (auto key = launcher.pinned_key(errand.entry.name)) {
      rounds.pinned.emplace(errand.entry.name, *std::move(key));
    }
  }
  policy.pinned = rounds.pinned;
  Doorkeeper doorkeeper(std::move(policy), person);
  MUSTER_TRY(const auto server, AskpassServer::open(launcher.folder(), doorkeeper));
  FirstVisits result;
  for (; !errands.empty(); errands = errands.subspan(std::min(kAtOnce, errands.size()))) {
    const auto round = errands.first(std::min(kAtOnce, errands.size()));
    std::vector<Visit> visits = rounds.visit(round, *server);
    rounds.repeat_lost(round, visits, *server);
    std::move(visits.begin(), visits.end(), std::back_inserter(result.visits));
  }
  for (Visit& visit : result.visits) {
    if (visit.entered() && !launcher.has_pin(visit.host)) visit.error = not_pinned(visit.host);
    // ssh pins the key before it authenticates. If the login then fails, remove the pin again.
    if (!visit.entered() && rounds.pinned.count(visit.host) == 0) launcher.remove_pin(visit.host);
  }
  result.offers = server->offers();
  return result;
}

void stop_sharing(std::span<const Entry> entries) {
  std::error_code none;
  if (std::filesystem::is_empty(remote::control_folder(), none) || none) return;
  std::vector<sys::Command> commands;
  for (const Entry& entry : entries) {
    sys::Command command{.argv = remote::ssh_words({.user = entry.user, .port = entry.port}),
                         .deadline = std::chrono::seconds(5)};
    command.argv.insert(command.argv.end(), {"-O", "stop", "--", entry.name});
    commands.push_back(std::move(command));
  }
  (void)sys::run_all(commands, kAtOnce);
}

}  // namespace muster::setup
