#include "why/transport.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/size_text.hpp"
#include "why/numbers.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

using inspect::Connection;

constexpr double kSilentAck = 5;  // seconds
// About 6 s of attempts, for kernels that do not report times.
constexpr int kManyRetransmits = 5;
constexpr int kSynRetransmits = 2;     // about 3 s without an answer
constexpr double kMovingShare = 0.05;  // share of the inspection during which data is in transit

// The connections whose receiving process does not read, as seen from the sender. The network is
// not to blame for those.
using Endpoints = std::tuple<std::string, int, std::string, int>;
std::set<Endpoints> unread_by_peer(const std::vector<RankReading>& ranks) {
  std::set<Endpoints> unread;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const Connection& c : rank.view->connections) {
      if (c.unread > 0) unread.emplace(c.peer, c.peer_port, c.local, c.local_port);
    }
  }
  return unread;
}

bool is_bad(const Connection& c) {
  if (c.state == "syn-sent") return c.retransmits >= kSynRetransmits;
  if (c.unsent == 0 || c.retransmits <= 0) return false;
  return c.since_ack_s > kSilentAck || (c.since_ack_s <= 0 && c.retransmits >= kManyRetransmits);
}

// Fills in `to` where it can be inferred. The addresses of a host that does not answer are unknown.
// If there is one such host and one unknown address, the address must be that host's.
void name_silent_host(const Scene& scene, std::vector<BadConnection>& connections) {
  if (scene.silent_hosts.size() != 1) return;
  std::set<std::string> unknown;
  for (const BadConnection& bad : connections) {
    if (bad.to.empty()) unknown.insert(bad.connection->peer);
  }
  if (unknown.size() != 1) return;
  for (BadConnection& bad : connections) {
    if (bad.to.empty()) bad.to = scene.silent_hosts.front();
  }
}

std::vector<std::string> shared_hosts(const std::vector<BadConnection>& connections) {
  std::set<std::set<std::string>> pairs;
  for (const BadConnection& bad : connections) {
    std::set<std::string> pair{bad.from};
    pair.insert(bad.to.empty() ? bad.connection->peer : bad.to);
    pairs.insert(pair);
  }
  if (pairs.empty()) return {};
  std::set<std::string> shared = *pairs.begin();
  std::set<std::string> all;
  for (const auto& pair : pairs) {
    std::set<std::string> both;
    std::set_intersection(shared.begin(), shared.end(), pair.begin(), pair.end(),
                          std::inserter(both, both.end()));
    shared = both;
    all.insert(pair.begin(), pair.end());
  }
  if (shared.empty()) return {all.begin(), all.end()};
  return {shared.begin(), shared.end()};
}

}  // namespace

std::map<std::string, std::string> hosts_by_address(const Scene& scene) {
  std::map<std::string, std::string> hosts;
  for (const auto& [name, view] : scene.hosts) {
    for (const std::string& address : view.addresses) {
      // Every host has the loopback device's addresses.
      if (!address.starts_with("127.") && address != "::1") hosts.try_emplace(address, name);
    }
  }
  return hosts;
}

BadLinks find_bad_links(const Scene& scene, const std::vector<RankReading>& ranks) {
  BadLinks links;
  const auto hosts = hosts_by_address(scene);
  const std::set<Endpoints> unread = unread_by_peer(ranks);
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const Connection& c : rank.view->connections) {
      if (!is_bad(c) || unread.contains({c.local, c.local_port, c.peer, c.peer_port})) continue;
      const auto host = hosts.find(c.peer);
      const bool to_master = c.peer_port == scene.master_port && scene.master_port != 0;
      BadConnection bad{.rank = &rank, .connection = &c, .from = rank.host, .to_master = to_master};
      if (host != hosts.end()) bad.to = host->second;
      // A connection to the outside, such as to a log server, says nothing about the job. But if
      // some host did not answer, its addresses are unknown, and the peer may be that host.
      const bool may_be_silent = !scene.silent_hosts.empty();
      if (bad.to.empty() && !to_master && !may_be_silent) continue;
      links.connections.push_back(std::move(bad));
    }
  }
  name_silent_host(scene, links.connections);
  links.hosts = shared_hosts(links.connections);
  return links;
}

std::string connection_text(const BadConnection& bad) {
  const Connection& c = *bad.connection;
  std::string text =
      fmt::format("{} -> {} ({}:{} -> {}:{}): ", bad.from, bad.to.empty() ? c.peer : bad.to,
                  c.local, c.local_port, c.peer, c.peer_port);
  if (c.state == "syn-sent") {
    return text + fmt::format("the connection gets no answer, tried {} times", times_sent(c));
  }
  const auto unsent = static_cast<std::int64_t>(
      std::min<std::uint64_t>(c.unsent, std::numeric_limits<std::int64_t>::max()));
  text += size_text(unsent) + " not acknowledged";
  if (c.since_ack_s > 0) text += " for " + seconds_text(c.since_ack_s);
  return text +
         fmt::format(", sent again {} {}", c.retransmits, c.retransmits == 1 ? "time" : "times");
}

bool moves_data(const std::vector<const RankReading*>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankReading* rank) {
    if (rank->view == nullptr) return false;
    return std::any_of(rank->view->connections.begin(), rank->view->connections.end(),
                       [](const Connection& c) {
                         return c.busy >= kMovingShare && c.retransmits == 0 && c.since_ack_s < 1;
                       });
  });
}

}  // namespace muster::why
