#include "run/reach_rounds.hpp"

#include <algorithm>

namespace muster::run {
namespace {

constexpr std::size_t kSampledRounds = 36;  // rounds in a large cluster

// The host that `host` meets in this round of a round-robin tournament. Returns `host` itself if it
// sits this round out, which happens if the number of hosts is odd.
std::size_t partner(std::size_t host, std::size_t round, std::size_t hosts) {
  const std::size_t even = hosts + hosts % 2;
  const std::size_t last = even - 1;  // keeps its place while the others rotate
  std::size_t met = (round + last - host % last) % last;
  if (host == last) {
    met = round % 2 == 0 ? round / 2 : (round + last) / 2;
  } else if (met == host) {
    met = last;
  }
  return met < hosts ? met : host;
}

void add(std::vector<std::size_t>& peers, std::size_t at, std::size_t host, std::size_t peer) {
  if (peer == host || std::find(peers.begin(), peers.end(), peer) != peers.end()) return;
  peers.insert(peers.begin() + static_cast<std::ptrdiff_t>(std::min(at, peers.size())), peer);
}

// Adds the two neighbours of each host, and the first host. The calls to the first host are spread
// over the rounds.
void add_needed(std::vector<std::vector<std::size_t>>& peers) {
  const std::size_t hosts = peers.size();
  for (std::size_t host = 0; host < hosts; ++host) {
    std::vector<std::size_t>& own = peers[host];
    add(own, own.size(), host, (host + 1) % hosts);
    add(own, own.size(), host, (host + hosts - 1) % hosts);
    add(own, host % kSampledRounds, host, 0);
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> peers_in_rounds(std::size_t hosts) {
  std::vector<std::vector<std::size_t>> peers(hosts);
  if (hosts < 2) return peers;
  const std::size_t all_rounds = hosts + hosts % 2 - 1;
  const bool all_pairs = hosts <= kMostForAllPairs;
  const std::size_t rounds = all_pairs ? all_rounds : kSampledRounds;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::size_t round = i * all_rounds / rounds;
    for (std::size_t host = 0; host < hosts; ++host) {
      const std::size_t peer = partner(host, round, hosts);
      if (peer != host) peers[host].push_back(peer);
    }
  }
  if (!all_pairs) add_needed(peers);
  return peers;
}

}  // namespace muster::run
