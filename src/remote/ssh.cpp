#include "remote/ssh.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "remote/diagnose.hpp"
#include "remote/local.hpp"
#include "remote/process_session.hpp"
#include "sys/file.hpp"

namespace muster::remote {
namespace {

// ssh exits with 255 when it fails, but a command may do so too.
bool may_be_ssh(const Result<sys::Ended>& ended) {
  return ended && !ended->timed_out && ended->signal == 0 && ended->code == kSshFailed;
}

std::string pinned_fingerprint(const ChangedKey& changed) {
  const auto file = sys::read_file(changed.pinned_file);
  if (!file) return "unreadable";
  std::istringstream lines(*file);
  std::string line;
  for (std::size_t i = 0; i < changed.pinned_line && std::getline(lines, line); ++i) {
  }
  const auto listed = sys::run({.argv = {"ssh-keygen", "-lf", "-"},
                                .input = std::make_shared<const std::string>(line + "\n")});
  const std::size_t start =
      listed && listed->ok() ? listed->out.find("SHA256:") : std::string::npos;
  if (start == std::string::npos) return "unreadable";
  return listed->out.substr(start, listed->out.find(' ', start) - start);
}

// For a changed host key, shows both fingerprints, so that the user can compare them.
void add_fingerprints(Error& error, std::string_view stderr_text) {
  const ChangedKey changed = changed_key(stderr_text);
  if (changed.presented.empty()) return;
  error.what +=
      fmt::format(": pinned {}, presented {}", pinned_fingerprint(changed), changed.presented);
}

Outcome outcome_of(const std::string& host, Result<sys::Ended> ended, bool connected) {
  if (!ended) return {host, unexpected(std::move(ended).error())};
  if (ended->timed_out) return no_answer(host);
  if (may_be_ssh(ended) && !connected) {
    Error error = unreachable(host, ended->err);
    add_fingerprints(error, ended->err);
    return {host, unexpected(std::move(error))};
  }
  return {host, std::move(ended)};
}

// Interprets the end of a session's ssh process. Exit code 255 always comes from ssh here, because
// the commands that muster opens sessions for never exit with it. So there is no need to ask the
// connection's master process, which may hang.
SessionEnd understand(const std::string& host, sys::Ended ended) {
  SessionEnd end{.ended = std::move(ended)};
  if (!may_be_ssh(end.ended)) return end;
  if (const auto known = diagnose(end.ended->err)) end.failure_id = known->id;
  end.ended = outcome_of(host, std::move(end.ended), false).ended;
  return end;
}

std::vector<Outcome> all_fail(std::span<const Task> tasks, const Error& error) {
  std::vector<Outcome> outcomes;
  for (const Task& task : tasks) outcomes.push_back({task.host, unexpected(error)});
  return outcomes;
}

// Runs the command in the home folder, as ssh does.
std::string from_home(const std::string& command) {
  return "cd 2>/dev/null; " + command;
}

}  // namespace

std::string control_folder() {
  // The kernel limits a socket's path to 107 bytes. ssh appends 40 digits and, while it creates the
  // socket, a dot and 16 letters; with the slash before the digits that is 58 bytes.
  constexpr std::size_t kRoom = 107 - 58;
  std::string folder = sys::home_folder() + "/.ssh/muster/cm";
  if (folder.size() <= kRoom) return folder;
  return fmt::format("/tmp/muster-ssh-{}", ::getuid());
}

std::vector<std::string> ssh_words(const SshOptions& options) {
  // -T: no terminal, because programs would print differently on one.
  std::vector<std::string> words = {"ssh", "-T"};
  const auto set = [&words](std::string setting) {
    words.emplace_back("-o");
    words.push_back(std::move(setting));
  };
  set("BatchMode=yes");
  for (const std::string_view setting : kOnlyOurCommand) set(std::string(setting));
  set("StrictHostKeyChecking=yes");
  set(fmt::format("ConnectTimeout={}", options.connect_timeout.count()));
  constexpr std::chrono::seconds kAskEvery{15};
  const auto unanswered = (options.patience + kAskEvery - std::chrono::seconds(1)) / kAskEvery;
  set(fmt::format("ServerAliveInterval={}", kAskEvery.count()));
  set(fmt::format("ServerAliveCountMax={}", unanswered));
  set("ControlMaster=auto");
  set("ControlPath=" + control_folder() + "/%C");
  set("ControlPersist=600");
  if (!options.user.empty()) {
    words.emplace_back("-l");
    words.push_back(options.user);
  }
  if (options.port != 0) {
    words.emplace_back("-p");
    words.push_back(std::to_string(options.port));
  }
  return words;
}

std::vector<std::string> interactive_words(const SshOptions& options, const std::string& host,
                                           const std::string& line, bool on_terminal) {
  std::vector<std::string> words = ssh_words(options);
  // LogLevel=ERROR suppresses the final "Shared connection to n1 closed." ssh_words has set -T, but
  // of several flags about a terminal, ssh obeys the last.
  if (on_terminal) words.insert(words.end(), {"-t", "-o", "LogLevel=ERROR"});
  words.insert(words.end(), {"--", host});
  if (!line.empty()) words.push_back(line);
  return words;
}

std::shared_ptr<Session> Ssh::open(sys::Loop& loop, SessionPlan plan) {
  if (is_here(plan.host)) {
    plan.command = from_home(plan.command);
    return Local().open(loop, std::move(plan));
  }
  std::vector<std::string> words = ssh_words(options_);
  // If an option is given twice, ssh uses the first one.
  if (plan.fresh) words.insert(words.begin() + 1, {"-o", "ControlPath=none"});
  words.insert(words.end(), {"--", plan.host, plan.command});
  Result<SessionProcess> process =
      SessionProcess{.argv = std::move(words), .understand = [host = plan.host](sys::Ended ended) {
                       return understand(host, std::move(ended));
                     }};
  if (auto made = sys::make_private_folder(control_folder()); !made) {
    process = unexpected(made.error());
  }
  return start_session(loop, std::move(plan), std::move(process));
}

std::vector<Outcome> Ssh::run(std::span<const Task> tasks, std::chrono::milliseconds deadline) {
  const bool all_here = std::all_of(tasks.begin(), tasks.end(),
                                    [this](const Task& task) { return is_here(task.host); });
  if (auto made = all_here ? Result<void>() : sys::make_private_folder(control_folder()); !made) {
    return all_fail(tasks, made.error());
  }
  const std::vector<std::string> words = ssh_words(options_);
  std::vector<Result<sys::Ended>> results =
      run_processes(tasks, deadline, options_.fan_out, [&](const Task& task) {
        if (is_here(task.host)) return shell_words(from_home(task.command));
        std::vector<std::string> argv = words;
        argv.insert(argv.end(), {"--", task.host, task.command});
        return argv;
      });
  std::vector<std::string> doubtful;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!is_here(tasks[i].host) && may_be_ssh(results[i])) doubtful.push_back(tasks[i].host);
  }
  const std::set<std::string> open = connected(doubtful);
  std::vector<Outcome> outcomes;
  outcomes.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string& host = tasks[i].host;
    const bool reached = is_here(host) || open.count(host) > 0;
    outcomes.push_back(outcome_of(host, std::move(results[i]), reached));
  }
  return outcomes;
}

std::vector<Result<sys::Ended>> Ssh::control(std::span<const std::string> hosts,
                                             const std::string& request) {
  std::vector<sys::Command> commands;
  for (const std::string& host : hosts) {
    sys::Command command{.argv = ssh_words(options_), .deadline = std::chrono::seconds(5)};
    command.argv.insert(command.argv.end(), {"-O", request, "--", host});
    commands.push_back(std::move(command));
  }
  return sys::run_all(commands, options_.fan_out);
}

std::set<std::string> Ssh::connected(std::span<const std::string> hosts) {
  const auto answers = control(hosts, "check");
  std::set<std::string> open;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (answers[i] && answers[i]->ok()) open.insert(hosts[i]);
  }
  return open;
}

void Ssh::renew(std::span<const std::string> hosts) {
  (void)control(hosts, "stop");
}

void Ssh::disconnect(std::span<const std::string> hosts) {
  (void)control(hosts, "exit");
}

}  // namespace muster::remote
