#include "setup/mesh.hpp"

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

// The addresses that each host reports; empty where it could not be asked.
std::vector<std::vector<std::string>> ask_addresses(const Launcher& launcher,
                                                    std::span<const Entry> entries) {
  std::vector<std::vector<std::string>> reported;
  for (Visit& visit : visit_by_key(launcher, same_errand(entries, addresses_script()), true)) {
    reported.push_back(std::move(visit.report.addresses));
  }
  return own_addresses(reported);
}

Result<MeshPart> make_part(Launcher& launcher, std::span<const Entry> entries) {
  MUSTER_CHECK(launcher.ensure_key(launcher.mesh_key(), "muster-host-to-host"));
  MeshPart part{.user = entries.front().user, .port = entries.front().port};
  MUSTER_TRY(part.private_key, sys::read_file(launcher.mesh_key(), 65536));
  // The script writes the newline at the end itself.
  while (!part.private_key.empty() && part.private_key.back() == '\n') part.private_key.pop_back();
  MUSTER_TRY(part.public_key, launcher.public_key(launcher.mesh_key()));
  const auto addresses = ask_addresses(launcher, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    part.addresses.insert(part.addresses.end(), addresses[i].begin(), addresses[i].end());
    std::vector<std::string> names = {entries[i].name};
    names.insert(names.end(), addresses[i].begin(), addresses[i].end());
    MUSTER_TRY(const std::string pinned, sys::read_file(launcher.pin(entries[i].name), 65536));
    part.pins += pins_for(pinned, names);
  }
  if (part.addresses.empty()) {
    return unexpected(Error{
        .code = ErrorCode::kFindings,
        .what = "the hosts report no IP addresses by which muster could tell them apart, so it "
                "cannot limit the host-to-host key to these hosts (from= in authorized_keys)",
        .hint = "install iproute2 on the hosts"});
  }
  return part;
}

std::string login_command(const std::string& peer) {
  return fmt::format(
      "ssh -n -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o {} -- {} true",
      fmt::join(remote::kOnlyOurCommand, " -o "), sys::quote(peer));
}

// Round by round; a failure is noted at the host that could not reach its peer.
std::size_t check_pairs(std::span<const Entry> entries, std::vector<Visit>& visits) {
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
                                  "be no NAT between the hosts"};
    }
  }
  return checked;
}

}  // namespace

std::vector<std::vector<std::string>> own_addresses(
    std::span<const std::vector<std::string>> reported) {
  std::unordered_map<std::string, int> seen;
  for (const auto& addresses : reported) {
    for (const std::string& address : addresses) ++seen[address];
  }
  std::vector<std::vector<std::string>> own(reported.size());
  for (std::size_t i = 0; i < reported.size(); ++i) {
    for (const std::string& address : reported[i]) {
      if (seen[address] == 1 && is_address(address)) own[i].push_back(address);
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

Result<MeshResult> connect_mesh(Launcher& launcher, std::span<const Entry> entries) {
  MUSTER_TRY(const MeshPart part, make_part(launcher, entries));
  MeshResult result;
  result.visits = visit_by_key(launcher, same_errand(entries, mesh_script(part, false)), true);
  const std::size_t checked = check_pairs(entries, result.visits);
  result.note = fmt::format(
      "host-to-host: {} connections between hosts checked ({})", checked,
      entries.size() <= kAllPairsUpTo ? "every pair, both ways" : "a sample of the pairs");
  return result;
}

}  // namespace muster::setup
