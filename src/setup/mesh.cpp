#include "setup/mesh.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <unordered_map>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/printable.hpp"
#include "remote/ssh.hpp"
#include "sys/quote.hpp"

namespace muster::setup {
namespace {

constexpr std::size_t kAllPairsUpTo = 64;
constexpr std::chrono::seconds kPairDeadline{30};
constexpr std::chrono::seconds kKnockTimeout{5};
constexpr std::size_t kMostAddresses = 16;  // per host, because each costs a login

bool is_address(const std::string& text) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

std::vector<Errand> same_errand(std::span<const Entry> entries, std::string script) {
  const auto shared = std::make_shared<const std::string>(std::move(script));
  std::vector<Errand> errands;
  for (const Entry& entry : entries) errands.push_back({entry, shared});
  return errands;
}

// A host of the mesh, with the addresses that it claims and those that were confirmed.
struct Member {
  Entry entry;
  std::string pin;  // content of the launcher's known_hosts file for this host
  std::string public_key;
  std::vector<std::string> claimed;
  std::vector<std::string> addresses = {};  // those of `claimed` where the host itself answered
};

Error no_address(const std::string& host) {
  return {.code = ErrorCode::kUnreachable,
          .what =
              "muster reached this host at none of the IP addresses that it reports, so muster "
              "cannot limit its host-to-host key to this host (from= in authorized_keys)",
          .where = {.host = host},
          .hint =
              "install iproute2 on the host, and let the other hosts connect to its sshd; muster "
              "confirms a private address through another host, where sshd_config must not say "
              "'AllowTcpForwarding no'"};
}

Error bad_key(const std::string& host) {
  return {.code = ErrorCode::kUnreachable,
          .what = "the host did not report a public key for logins to the other hosts",
          .where = {.host = host},
          .hint = "install OpenSSH's client (ssh and ssh-keygen) on the host"};
}

// Returns the ssh setting that connects through this peer. ssh expands % in it, so % is escaped.
std::string through(const Entry& peer) {
  std::string command;
  for (const std::string& word : remote::ssh_words({.user = peer.user, .port = peer.port})) {
    for (const char c : sys::quote(word)) command += c == '%' ? "%%" : std::string(1, c);
    command += ' ';
  }
  return "ProxyCommand=" + command + "-W '[%h]:%p' -- " + sys::quote(peer.name);
}

// The command that logs in to the member at this address and accepts only its pinned key.
sys::Command knock(const Member& member, const std::string& address, const Entry* peer) {
  const std::string pinned_name = member.pin.substr(0, member.pin.find_first_of(" ,"));
  std::vector<std::string> words = remote::ssh_words(
      {.user = member.entry.user, .port = member.entry.port, .connect_timeout = kKnockTimeout});
  std::vector<std::string> settings = {"ControlPath=none", "HostName=" + address,
                                       "HostKeyAlias=" + pinned_name};
  if (peer != nullptr) settings.push_back(through(*peer));
  for (const std::string& setting : settings) {  // ssh uses the first value of an option
    words.insert(words.begin() + 1, {"-o", setting});
  }
  words.insert(words.end(), {"--", member.entry.name, "true"});
  return {.argv = std::move(words), .deadline = kPairDeadline};
}

// Tries the claimed addresses that are not confirmed yet, from here or through the next host.
void confirm_addresses(std::span<Member> members, bool through_peers) {
  std::vector<sys::Command> commands;
  std::vector<std::pair<Member*, std::string>> claims;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    const Entry& peer = members[(i + 1) % members.size()].entry;
    for (const std::string& address : member.claimed) {
      const auto& known = member.addresses;
      if (std::find(known.begin(), known.end(), address) != known.end()) continue;
      commands.push_back(knock(member, address, through_peers ? &peer : nullptr));
      claims.emplace_back(&member, address);
    }
  }
  const auto ended = sys::run_all(commands, kAtOnce);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (ended[i] && ended[i]->ok()) claims[i].first->addresses.push_back(claims[i].second);
  }
}

// Returns the hosts whose key is valid, with the addresses at which they answered. Each other host
// gets an error in its visit.
Result<std::vector<Member>> find_members(const Launcher& launcher, std::span<const Entry> entries,
                                         std::vector<Visit>& visits) {
  std::vector<Member> members;
  std::vector<Visit*> theirs;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (visits[i].error) continue;
    const auto key = plain_key(visits[i].report.public_key);
    if (!key) visits[i].error = bad_key(entries[i].name);
    if (!key) continue;
    MUSTER_TRY(std::string pin, sys::read_file(launcher.pin(entries[i].name), 65536));
    members.push_back(
        {entries[i], std::move(pin), *key, plausible_addresses(visits[i].report.addresses)});
    theirs.push_back(&visits[i]);
  }
  confirm_addresses(members, false);
  confirm_addresses(members, true);
  std::vector<std::vector<std::string>> confirmed;
  for (const Member& member : members) confirmed.push_back(member.addresses);
  confirmed = own_addresses(confirmed);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].addresses = confirmed[i];
    if (confirmed[i].empty()) theirs[i]->error = no_address(members[i].entry.name);
  }
  std::erase_if(members, [](const Member& member) { return member.addresses.empty(); });
  return members;
}

MeshPart part_of(std::span<const Member> members) {
  MeshPart part;
  for (const Member& member : members) {
    part.user = member.entry.user;
    part.port = member.entry.port;
    std::vector<std::string> names = {member.entry.name};
    names.insert(names.end(), member.addresses.begin(), member.addresses.end());
    part.pins += pins_for(member.pin, names);
    part.keys += fmt::format("{} from=\"{}\",restrict {} muster-host-to-host\n", member.entry.name,
                             fmt::join(member.addresses, ","), member.public_key);
  }
  return part;
}

std::string login_command(const std::string& peer) {
  return fmt::format(
      "ssh -n -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o {} -- {} true",
      fmt::join(remote::kOnlyOurCommand, " -o "), sys::quote(peer));
}

// Tests the pairs round by round and returns how many it tested. Records a failure in the visit of
// the host that could not reach its peer.
std::size_t check_pairs(std::span<const Entry> entries, std::vector<Visit>& visits) {
  if (entries.empty()) return 0;
  remote::Ssh ssh({.user = entries.front().user, .port = entries.front().port});
  std::size_t checked = 0;
  for (const std::size_t apart : mesh_rounds(entries.size())) {
    std::vector<remote::Task> tasks;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string& peer = entries[(i + apart) % entries.size()].name;
      tasks.push_back({.host = entries[i].name, .command = login_command(peer)});
    }
    const auto outcomes = ssh.run(tasks, kPairDeadline);
    checked += outcomes.size();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].ended && outcomes[i].ended->ok()) continue;
      const std::string why = outcomes[i].ended ? printable_lines(outcomes[i].ended->err)
                                                : outcomes[i].ended.error().what;
      visits[i].error = Error{.code = ErrorCode::kUnreachable,
                              .what = fmt::format("this host cannot log in to {}: {}",
                                                  entries[(i + apart) % entries.size()].name,
                                                  why.substr(0, why.find_last_not_of('\n') + 1)),
                              .where = {.host = entries[i].name},
                              .hint =
                                  "the hosts' names must also resolve on the hosts, and there must "
                                  "be no NAT between the hosts; if sshd_config on the hosts says "
                                  "'AllowTcpForwarding no', muster cannot confirm their private "
                                  "addresses"};
    }
  }
  return checked;
}

}  // namespace

std::optional<std::string> plain_key(std::string_view text) {
  constexpr std::string_view kType = "ssh-ed25519 ";
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  constexpr std::size_t kLength = 68;  // of every ed25519 key in base64
  if (!text.starts_with(kType)) return std::nullopt;
  const std::string_view key =
      text.substr(kType.size(), text.find(' ', kType.size()) - kType.size());
  if (key.size() != kLength || key.find_first_not_of(kBase64) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(kType) + std::string(key);
}

std::vector<std::string> plausible_addresses(std::span<const std::string> claimed) {
  std::vector<std::string> addresses;
  for (const std::string& address : claimed) {
    if (is_address(address) && addresses.size() < kMostAddresses) addresses.push_back(address);
  }
  return addresses;
}

std::vector<std::vector<std::string>> own_addresses(
    std::span<const std::vector<std::string>> confirmed) {
  std::unordered_map<std::string, int> seen;
  for (const auto& addresses : confirmed) {
    for (const std::string& address : addresses) ++seen[address];
  }
  std::vector<std::vector<std::string>> own(confirmed.size());
  for (std::size_t i = 0; i < confirmed.size(); ++i) {
    for (const std::string& address : confirmed[i]) {
      if (seen[address] == 1) own[i].push_back(address);
    }
  }
  return own;
}

std::string pins_for(std::string_view known_hosts, std::span<const std::string> names) {
  std::istringstream stream{std::string(known_hosts)};
  std::string first;
  std::string type;
  std::string key;
  if (!(stream >> first >> type >> key) || key.rfind("AAAA", 0) != 0) return {};
  const std::size_t bracket = first.rfind("]:");
  const std::string port = bracket == std::string::npos ? "" : first.substr(bracket + 1);
  std::string lines;
  for (const std::string& name : names) {
    const std::string written = port.empty() ? name : fmt::format("[{}]{}", name, port);
    lines += fmt::format("{} {} {} {}\n", name, written, type, key);
  }
  return printable_lines(lines);
}

std::vector<std::size_t> mesh_rounds(std::size_t hosts) {
  std::vector<std::size_t> rounds;
  for (std::size_t apart = 1; apart < hosts; hosts <= kAllPairsUpTo ? apart += 1 : apart *= 2) {
    rounds.push_back(apart);
  }
  return rounds;
}

Result<void> check_mesh(std::span<const Entry> entries) {
  const auto how = [](const Entry& entry) {
    return fmt::format("user {}, port {}", entry.user.empty() ? "not given" : entry.user,
                       entry.port == 0 ? "not given" : std::to_string(entry.port));
  };
  for (const Entry& entry : entries) {
    const Entry& first = entries.front();
    if (entry.user == first.user && entry.port == first.port) continue;
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("--host-to-host needs the same user and port on every host: {} "
                                  "is set up with {}, {} with {}",
                                  first.name, how(first), entry.name, how(entry)),
              .hint = "pass --user and --port for all hosts, or run muster setup --host-to-host "
                      "once for each group of hosts with the same user and port"});
  }
  return {};
}

Result<MeshResult> connect_mesh(const Launcher& launcher, std::span<const Entry> entries) {
  MeshResult result{.visits =
                        visit_by_key(launcher, same_errand(entries, identity_script()), true)};
  MUSTER_TRY(const std::vector<Member> members, find_members(launcher, entries, result.visits));
  std::vector<Entry> joined;
  for (const Member& member : members) joined.push_back(member.entry);
  std::vector<Visit> visits =
      visit_by_key(launcher, same_errand(joined, mesh_script(part_of(members), false)), true);
  const std::size_t checked = check_pairs(joined, visits);
  std::move(visits.begin(), visits.end(), std::back_inserter(result.visits));
  result.note = fmt::format(
      "host-to-host: {} connections between hosts checked ({})", checked,
      joined.size() <= kAllPairsUpTo ? "every pair, both ways" : "a sample of the pairs");
  return result;
}

}  // namespace muster::setup
