#include "cli/this_machine.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts/host_values.hpp"
#include "facts/interfaces.hpp"
#include "facts/users.hpp"
#include "hosts/here.hpp"

namespace muster::cli {
namespace {

constexpr std::chrono::seconds kResolverAnswers{3};

hosts::Here read_here() {
  hosts::Here here;
  utsname names{};
  if (::uname(&names) == 0) here.name = names.nodename;
  const auto interfaces = facts::read_interfaces();
  if (!interfaces) return here;
  for (const facts::Interface& interface : *interfaces) {
    for (const facts::Address& address : interface.addresses) here.addresses.push_back(address.ip);
  }
  return here;
}

bool resolves_here(const std::string& host, const hosts::Here& here) {
  const auto addresses = facts::resolve(host, kResolverAnswers);
  return addresses &&
         std::any_of(addresses->begin(), addresses->end(),
                     [&](const std::string& address) { return hosts::is_here(address, here); });
}

bool is_other_user(const std::string& user) {
  return !user.empty() &&
         user != facts::name_of(facts::read_users(::geteuid(), kResolverAnswers), ::geteuid());
}

}  // namespace

Result<std::string> find_this_machine(hosts::Cluster& cluster, NamedTwice twice) {
  std::string found;
  // With a given port, the name may belong to another sshd on this machine: that of a container, or
  // the end of a tunnel.
  if (cluster.port != 0 || is_other_user(cluster.user)) return found;
  const hosts::Here here = read_here();
  for (hosts::Host& host : cluster.hosts) {
    host.here = hosts::is_here(host.name, here) ||
                (hosts::may_be_here(host.name, here) && resolves_here(host.name, here));
    if (!host.here) continue;
    if (!found.empty() && twice == NamedTwice::kOverSsh) {
      host.here = false;
      continue;
    }
    if (!found.empty()) {
      return unexpected(Error{
          .code = ErrorCode::kUsage,
          .what = fmt::format("{} and {} are both names of this machine", found, host.name),
          .hint = fmt::format("list this machine once, with its number of ranks: {}:2", found)});
    }
    found = host.name;
  }
  return found;
}

Result<SshHosts> find_ssh_hosts(const ClusterOptions& options) {
  MUSTER_TRY(hosts::Cluster cluster, read_cluster(options));
  MUSTER_TRY(const std::string here, find_this_machine(cluster, NamedTwice::kOverSsh));
  SshHosts hosts{.names = {},
                 .ssh = {.user = cluster.user, .port = cluster.port, .this_machine = here}};
  for (const hosts::Host& host : cluster.hosts) hosts.names.push_back(host.name);
  return hosts;
}

}  // namespace muster::cli
