#include "setup/launcher.hpp"

#include <algorithm>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "remote/ssh.hpp"
#include "setup/host_script.hpp"
#include "setup/key_pair.hpp"
#include "sys/process.hpp"

namespace muster::setup {
namespace {

// SSH_ASKPASS_REQUIRE needs 8.4. Tokens in UserKnownHostsFile, for one file per host, need 8.5.
constexpr std::pair<int, int> kOldestSsh = {8, 5};

Result<sys::Ended> run_ok(std::vector<std::string> argv) {
  sys::Command command{.argv = std::move(argv)};
  MUSTER_TRY(sys::Ended ended, sys::run(command));
  if (ended.ok()) return ended;
  return unexpected(Error{.what = fmt::format("{} failed ({}): {}", command.argv.front(),
                                              sys::to_text(ended), printable_lines(ended.err))});
}

Result<void> check_ssh_version() {
  MUSTER_TRY(const sys::Ended ended, run_ok({"ssh", "-V"}));
  const auto version = parse_ssh_version(ended.err);
  if (!version || *version >= kOldestSsh) return {};
  return unexpected(Error{
      .code = ErrorCode::kEngineMissing,
      .what = fmt::format(
          "the ssh client on this machine is OpenSSH {}.{}, but muster setup needs 8.5 or newer",
          version->first, version->second),
      .hint = "install a newer openssh-client on this machine; the hosts' sshd "
              "may be older"});
}

// ssh looks for ~/.ssh in the account's home folder, whatever HOME says.
Result<void> check_home(const std::string& home) {
  const auto account = run_ok({"getent", "passwd", std::to_string(::geteuid())});
  if (!account) return {};  // without an account entry, HOME decides
  std::istringstream stream(account->out);
  std::string field;
  for (int i = 0; i < 6; ++i) std::getline(stream, field, ':');
  if (field == home) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("HOME is {}, but ssh reads {}/.ssh for this account", home, field),
            .hint = fmt::format("run: HOME={} muster setup ...", field)});
}

Result<ScriptReport> run_here(std::string script) {
  MUSTER_TRY(
      const sys::Ended ended,
      sys::run({.argv = {"sh"}, .input = std::make_shared<const std::string>(std::move(script))}));
  ScriptReport report = parse_script_report(ended.out);
  if (report.ended) return report;
  return unexpected(Error{.what = "could not change ~/.ssh on this machine: " +
                                  report.failure.value_or(printable_lines(ended.err))});
}

}  // namespace

std::optional<std::pair<int, int>> parse_ssh_version(std::string_view text) {
  constexpr std::string_view kName = "OpenSSH_";
  const std::size_t start = text.find(kName);
  if (start == std::string_view::npos) return std::nullopt;
  std::istringstream stream{std::string(text.substr(start + kName.size()))};
  int major = 0;
  int minor = 0;
  char dot = 0;
  if (!(stream >> major >> dot >> minor) || dot != '.') return std::nullopt;
  return std::pair{major, minor};
}

std::vector<HostKey> parse_key_list(std::string_view out) {
  std::vector<HostKey> keys;
  std::istringstream stream{printable_lines(out)};
  for (std::string line; std::getline(stream, line);) {
    const std::size_t print = line.find("SHA256:");
    const std::size_t type = line.rfind('(');
    if (print == std::string::npos || type == std::string::npos || line.back() != ')') continue;
    HostKey key{line.substr(type + 1, line.size() - type - 2),
                line.substr(print, line.find(' ', print) - print)};
    if (is_fingerprint(key.fingerprint)) keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::string> parse_public_key(std::string_view text, const std::string& file) {
  std::string line(text.substr(0, text.find('\n')));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  const std::size_t blank = line.find(' ');
  if (blank != std::string::npos && line.compare(blank + 1, 4, "AAAA") == 0 &&
      line == printable_lines(line) && line.find_first_of("'\"") == std::string::npos) {
    return line;
  }
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "this is not a public key",
                          .where = {.file = file, .line = 1},
                          .hint = "create a key pair: ssh-keygen -t ed25519"});
}

Result<Launcher> Launcher::open() {
  Launcher launcher(sys::home_folder());
  MUSTER_CHECK(check_ssh_version());
  MUSTER_CHECK(check_home(launcher.home_));
  return launcher;
}

Result<sys::Fd> Launcher::prepare() {
  MUSTER_CHECK(run_script(prepare_script(false)));
  MUSTER_CHECK(sys::make_private_folder(folder()));
  MUSTER_CHECK(sys::make_private_folder(folder() + "/known_hosts.d"));
  MUSTER_CHECK(sys::make_private_folder(remote::control_folder()));
  const std::string path = folder() + "/lock";
  sys::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return unexpected(system_error("cannot open the lock", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return unexpected(Error{.what = "another muster setup is running",
                          .where = {.file = path},
                          .hint = "wait until it has ended"});
}

Result<void> Launcher::ensure_key(const std::string& path, const std::string& purpose) {
  if (sys::exists(path)) return {};
  char name[256] = "launcher";
  (void)::gethostname(name, sizeof name - 1);
  MUSTER_CHECK(make_key_pair(path, fmt::format("{}@{}", purpose, name)));
  changes_.push_back("created the key " + path);
  return {};
}

Result<std::string> Launcher::public_key(const std::string& path) const {
  if (const auto text = sys::read_file(path + ".pub", 65536)) {
    return parse_public_key(*text, path + ".pub");
  }
  if (!sys::exists(path)) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "there is no such key",
                            .where = {.file = path},
                            .hint = "create a key: ssh-keygen -t ed25519 -f " + path});
  }
  // With -P '', a key that has a passphrase is an error instead of a prompt.
  MUSTER_TRY(const sys::Ended ended, run_ok({"ssh-keygen", "-y", "-P", "", "-f", path}));
  return parse_public_key(ended.out, path);
}

std::optional<HostKey> Launcher::pinned_key(const std::string& host) const {
  if (!has_pin(host)) return std::nullopt;
  const auto listed = run_ok({"ssh-keygen", "-lf", pin(host)});
  if (!listed) return std::nullopt;
  const std::vector<HostKey> keys = parse_key_list(listed->out);
  return keys.empty() ? std::nullopt : std::optional(keys.front());
}

void Launcher::remove_pin(const std::string& host) const {
  ::unlink(pin(host).c_str());
  ::unlink((pin(host) + ".old").c_str());  // ssh-keygen and ssh may leave such a file
}

Result<std::vector<Entry>> Launcher::read_entries() const {
  const std::string path = folder() + "/hosts";
  if (!sys::exists(path)) return std::vector<Entry>();
  MUSTER_TRY(const std::string text, sys::read_file(path));
  return parse_entries(text, path);
}

Result<void> Launcher::write_list(std::span<const Entry> entries) {
  return write_if_new(folder() + "/hosts", entries_text(entries), "~/.ssh/muster/hosts");
}

Result<void> Launcher::write_config(std::span<const Entry> entries) {
  MUSTER_CHECK(write_if_new(folder() + "/config", config_text(entries), "~/.ssh/muster/config"));
  return run_script(include_script(false));
}

Result<void> Launcher::undo() {
  return run_script(undo_script(Place::kLauncher, false));
}

Result<std::vector<std::string>> Launcher::foretell(bool undo) const {
  if (undo) {
    MUSTER_TRY(const ScriptReport report, run_here(undo_script(Place::kLauncher, true)));
    return report.changes;
  }
  MUSTER_TRY(ScriptReport report, run_here(prepare_script(true)));
  if (!sys::exists(cluster_key())) report.changes.push_back("created the key " + cluster_key());
  MUSTER_TRY(const ScriptReport include, run_here(include_script(true)));
  report.changes.insert(report.changes.end(), include.changes.begin(), include.changes.end());
  return report.changes;
}

Result<void> Launcher::run_script(std::string script) {
  MUSTER_TRY(const ScriptReport report, run_here(std::move(script)));
  changes_.insert(changes_.end(), report.changes.begin(), report.changes.end());
  return {};
}

Result<void> Launcher::write_if_new(const std::string& path, const std::string& content,
                                    const std::string& label) {
  const auto old = sys::exists(path) ? sys::read_file(path) : Result<std::string>("");
  if (old && *old == content) return {};
  MUSTER_CHECK(sys::write_file(path, content, 0600));
  std::string change = "wrote " + label;
  if (std::find(changes_.begin(), changes_.end(), change) == changes_.end()) {
    changes_.push_back(std::move(change));
  }
  return {};
}

}  // namespace muster::setup
