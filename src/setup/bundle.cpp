#include "setup/bundle.hpp"

#include <charconv>

#include <fmt/format.h>

namespace muster::setup {
namespace {

constexpr int kDefaultSshPort = 22;
constexpr int kFirstOrdinaryPort = 1024;  // below it only root may listen

Error refused(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

bool parse_id(std::string_view text, std::uint32_t& id) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), id);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

// Paths and names stand bare in ssh's files, which have no way to quote them in all places.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  return !text.empty() && text[0] != '-' &&
         text.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string user_of(const BundleOptions& options) {
  if (!options.user.empty()) return options.user;
  return options.home.substr(options.home.rfind('/') + 1);
}

// sshd expands neither ~ nor %h in HostKey and PidFile, hence the absolute paths. UsePAM needs
// root.
std::string sshd_config(const BundleOptions& options) {
  return fmt::format(
      "# The sshd of a worker container; it runs as {user}, without root:\n"
      "#   /usr/sbin/sshd -D -e -f {home}/.ssh/sshd_config\n"
      "Port {port}\n"
      "HostKey {home}/.ssh/ssh_host_ed25519_key\n"
      "PidFile {home}/.ssh/sshd.pid\n"
      "AuthorizedKeysFile {home}/.ssh/authorized_keys\n"
      "StrictModes yes\n"
      "AuthenticationMethods publickey\n"
      "PasswordAuthentication no\n"
      "KbdInteractiveAuthentication no\n"
      "UsePAM no\n"
      "MaxSessions 100\n"
      "AllowAgentForwarding no\n"
      "AllowTcpForwarding no\n"
      "X11Forwarding no\n"
      "PrintMotd no\n"
      "LogLevel INFO\n"
      "AcceptEnv LANG LC_*\n"
      "Subsystem sftp internal-sftp\n",
      fmt::arg("user", user_of(options)), fmt::arg("home", options.home),
      fmt::arg("port", options.port));
}

// ssh expands ~ itself, by the user's entry in the container's /etc/passwd.
std::string client_config(const BundleOptions& options) {
  std::string text;
  for (const std::string& host : options.hosts) {
    text += fmt::format(
        "Host {0}\n"
        "    HostName {0}\n"
        "    Port {1}\n"
        "    User {2}\n"
        "    IdentityFile ~/.ssh/id_ed25519\n"
        "    IdentitiesOnly yes\n"
        "    StrictHostKeyChecking yes\n"
        "    UserKnownHostsFile ~/.ssh/known_hosts\n"
        "    HostKeyAlgorithms ssh-ed25519\n"
        "    ServerAliveInterval 5\n"
        "    ServerAliveCountMax 3\n",
        host, options.port, user_of(options));
  }
  return text;
}

std::string known_hosts(const BundleOptions& options, const std::string& host_key) {
  std::string text;
  for (const std::string& host : options.hosts) {
    const std::string name =
        options.port == kDefaultSshPort ? host : fmt::format("[{}]:{}", host, options.port);
    text += fmt::format("{} {}\n", name, host_key);
  }
  return text;
}

Result<void> check_hosts(const std::vector<std::string>& hosts) {
  if (hosts.size() < 2) {
    return unexpected(
        refused("a bundle needs a launcher and at least one worker",
                "name the machines, the launcher first: -H launcher,worker1,worker2"));
  }
  for (const std::string& host : hosts) {
    if (!is_plain(host)) {
      return unexpected(refused(fmt::format("'{}' cannot be a host name", host),
                                "a host name consists of letters, digits, '.', '-' and '_'"));
    }
  }
  return {};
}

}  // namespace

Result<Owner> parse_owner(std::string_view text) {
  Owner owner;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && parse_id(text.substr(0, colon), owner.user) &&
      parse_id(text.substr(colon + 1), owner.group)) {
    return owner;
  }
  return unexpected(refused(
      fmt::format("'{}' is not a numeric user and group id", text),
      "pass two numbers, the user id and the group id in the container: --owner 1000:1000"));
}

Result<void> check(const BundleOptions& options) {
  MUSTER_CHECK(check_hosts(options.hosts));
  if (!is_plain(options.home) || options.home.size() < 2 || options.home[0] != '/' ||
      options.home.back() == '/') {
    return unexpected(refused(fmt::format("'{}' cannot be the home directory", options.home),
                              "pass an absolute path in the container, such as /home/dev"));
  }
  if (!options.user.empty() && !is_plain(options.user)) {
    return unexpected(refused(fmt::format("'{}' cannot be a user's name", options.user), ""));
  }
  if (options.port < 1 || options.port > 65535) {
    return unexpected(refused(fmt::format("{} is not a usable port", options.port),
                              "use a number from 1024 to 65535"));
  }
  if (options.port < kFirstOrdinaryPort && options.owner.user != 0) {
    return unexpected(
        refused(fmt::format("user {} may not listen on port {}", options.owner.user, options.port),
                "only root may use ports below 1024; choose a port such as 12345"));
  }
  return {};
}

std::vector<BundleFile> bundle_files(const BundleOptions& options, const BundleKeys& keys) {
  return {
      {"launcher/id_ed25519.pub", 0644, keys.cluster + "\n"},
      {"launcher/config", 0600, client_config(options)},
      {"launcher/known_hosts", 0600, known_hosts(options, keys.host)},
      {"worker/authorized_keys", 0600, keys.cluster + "\n"},
      {"worker/ssh_host_ed25519_key.pub", 0644, keys.host + "\n"},
      {"worker/sshd_config", 0600, sshd_config(options)},
      {"run-worker.sh", 0755, worker_script(options)},
      {"run-launcher.sh", 0755, launcher_script(options)},
  };
}

}  // namespace muster::setup
