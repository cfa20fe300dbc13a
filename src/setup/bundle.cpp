#include "setup/bundle.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace muster::setup {
namespace {

constexpr int kDefaultSshPort = 22;
constexpr int kFirstOrdinaryPort = 1024;  // only root may listen below it

Error refused(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

bool parse_id(std::string_view text, std::uint32_t& id) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), id);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

// Whether the text needs no quotes. In some places of ssh's files, paths and names cannot be
// quoted.
bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  return !text.empty() && text[0] != '-' &&
         text.find_first_not_of(kPlain) == std::string_view::npos;
}

// The paths are absolute because sshd expands neither ~ nor %h in HostKey and PidFile. UsePAM is
// off because it needs root.
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
      fmt::arg("user", user_name(options)), fmt::arg("home", options.home),
      fmt::arg("port", options.port));
}

// The name under which ssh finds the worker's key in known_hosts, whatever its address.
std::string name_in_known_hosts(const BundleOptions& options, const std::string& worker) {
  return options.port == kDefaultSshPort ? worker : fmt::format("[{}]:{}", worker, options.port);
}

// The worker's address in the bundle's network, else its name.
std::string reached_as(const BundleOptions& options, const std::string& worker) {
  const std::vector<std::string> all = addresses(options);
  const auto at = std::find(options.hosts.begin(), options.hosts.end(), worker);
  return all.empty() ? worker : all.at(static_cast<std::size_t>(at - options.hosts.begin()));
}

// `keys` is the folder with the private key and known_hosts, as a path for the ssh that reads this
// configuration.
std::string client_config(const BundleOptions& options, const std::string& keys) {
  // muster check reads the first line (facts/container.cpp) to find out who must own these files.
  std::string text =
      fmt::format("# muster bundle: owner {}:{}\n", options.owner.user, options.owner.group);
  for (const std::string& worker : worker_names(options)) {
    text += fmt::format(
        "Host {name}\n"
        "    HostName {address}\n"
        "    HostKeyAlias {alias}\n"
        "    Port {port}\n"
        "    User {user}\n"
        "    IdentityFile \"{keys}/id_ed25519\"\n"
        "    IdentitiesOnly yes\n"
        "    StrictHostKeyChecking yes\n"
        "    UserKnownHostsFile \"{keys}/known_hosts\"\n"
        "    HostKeyAlgorithms ssh-ed25519\n"
        "    ServerAliveInterval 5\n"
        "    ServerAliveCountMax 3\n",
        fmt::arg("name", worker), fmt::arg("address", reached_as(options, worker)),
        fmt::arg("alias", name_in_known_hosts(options, worker)), fmt::arg("port", options.port),
        fmt::arg("user", user_name(options)), fmt::arg("keys", keys));
  }
  return text;
}

std::string known_hosts(const BundleOptions& options, const std::vector<std::string>& host_keys) {
  std::string text;
  const std::vector<std::string> workers = worker_names(options);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    text += fmt::format("{} {}\n", name_in_known_hosts(options, workers[i]), host_keys.at(i));
  }
  return text;
}

// A network in the form "198.18.50.0/24".
struct Subnet {
  std::uint32_t first = 0;
  int prefix = 0;
};

bool parse_subnet(std::string_view text, Subnet& subnet) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) != 1) return false;
  const std::string_view bits = text.substr(slash + 1);
  const auto [end, code] = std::from_chars(bits.data(), bits.data() + bits.size(), subnet.prefix);
  if (code != std::errc() || end != bits.data() + bits.size()) return false;
  if (subnet.prefix < 8 || subnet.prefix > 29) return false;
  subnet.first = ntohl(address.s_addr);
  return (subnet.first & ((std::uint32_t{1} << (32 - subnet.prefix)) - 1)) == 0;
}

std::string address_text(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 0xff, address >> 8 & 0xff,
                     address & 0xff);
}

Result<void> check_network(const BundleOptions& options) {
  const bool own = options.network != "host";
  if (!is_plain(options.network) || options.network.find('/') != std::string::npos) {
    return unexpected(refused(fmt::format("'{}' cannot be a network's name", options.network),
                              "pass host, or a name such as muster"));
  }
  if (own == options.subnet.empty()) {
    return unexpected(
        refused(own ? fmt::format("the network '{}' needs a subnet", options.network)
                    : "--subnet is for a network of containers on one machine, but the network "
                      "is the machines' own",
                "pass both, for example: --network muster --subnet 198.18.50.0/24"));
  }
  Subnet subnet;
  if (!own) return {};
  if (!parse_subnet(options.subnet, subnet)) {
    return unexpected(refused(fmt::format("'{}' is not an IPv4 subnet", options.subnet),
                              "write it with its prefix: 198.18.50.0/24"));
  }
  // Three addresses are not for containers: the network's own, the gateway's and the broadcast
  // address.
  const std::size_t room = (std::size_t{1} << (32 - subnet.prefix)) - 3;
  if (options.hosts.size() <= room) return {};
  return unexpected(refused(fmt::format("{} has addresses for {} containers, but there are {}",
                                        options.subnet, room, options.hosts.size()),
                            "choose a larger subnet"));
}

Result<void> check_hosts(const std::vector<std::string>& hosts) {
  if (hosts.size() < 2) {
    return unexpected(
        refused("a bundle needs a launcher and at least one worker",
                "name the machines, the launcher first: -H launcher,worker1,worker2"));
  }
  for (const std::string& host : hosts) {
    if (!is_plain(host) || host.find('/') != std::string::npos || host[0] == '.') {
      return unexpected(refused(fmt::format("'{}' cannot be a host name", host),
                                "a host name consists of letters, digits, '.', '-' and '_'"));
    }
    if (std::count(hosts.begin(), hosts.end(), host) > 1) {
      return unexpected(refused(fmt::format("'{}' is named twice", host),
                                "give each container a name of its own"));
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
  MUSTER_CHECK(check_network(options));
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

std::string user_name(const BundleOptions& options) {
  if (!options.user.empty()) return options.user;
  return options.home.substr(options.home.rfind('/') + 1);
}

std::vector<std::string> worker_names(const BundleOptions& options) {
  return {options.hosts.begin() + 1, options.hosts.end()};
}

std::string host_key_path(const std::string& worker) {
  return fmt::format("workers/{}/ssh_host_ed25519_key", worker);
}

std::vector<std::string> addresses(const BundleOptions& options) {
  Subnet subnet;
  if (options.network == "host" || !parse_subnet(options.subnet, subnet)) return {};
  std::vector<std::string> all;
  std::uint32_t next = subnet.first + 2;  // the first address is the gateway's
  for (std::size_t i = 0; i < options.hosts.size(); ++i) all.push_back(address_text(next++));
  return all;
}

std::string program_name(std::string_view machine) {
  return fmt::format("muster-{}", machine);
}

std::vector<BundleFile> bundle_files(const BundleOptions& options, const BundleKeys& keys,
                                     const std::string& folder) {
  std::vector<BundleFile> files = {
      {"launcher/id_ed25519.pub", 0644, keys.cluster + "\n"},
      {"launcher/config", 0600, client_config(options, "~/.ssh")},
      {"launcher/known_hosts", 0600, known_hosts(options, keys.hosts)},
      {"ssh_config", 0644, client_config(options, folder + "/launcher")},
      {"run-worker.sh", 0755, worker_script(options)},
      {"run-launcher.sh", 0755, launcher_script(options)},
      {"Containerfile", 0644, containerfile(options)},
      {".dockerignore", 0644, "*\n!muster-*\n"},  // keeps the keys out of images
  };
  const std::vector<std::string> workers = worker_names(options);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const std::string own = "workers/" + workers[i];
    files.push_back({own + "/authorized_keys", 0600, keys.cluster + "\n"});
    files.push_back({own + "/ssh_host_ed25519_key.pub", 0644, keys.hosts.at(i) + "\n"});
    files.push_back({own + "/sshd_config", 0600, sshd_config(options)});
  }
  return files;
}

}  // namespace muster::setup
