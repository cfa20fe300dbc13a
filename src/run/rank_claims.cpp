#include "run/rank_claims.hpp"

namespace muster::run {

RankClaims::RankClaims(const std::vector<RankRecord>& ranks, bool counts_hold)
    : counts_hold_(counts_hold) {
  for (const RankRecord& rank : ranks) {
    hosts_[rank.host].placed.insert(rank.rank);
    placed_on_[rank.rank] = rank.host;
  }
}

bool RankClaims::is_placed(const std::string& host, int rank) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.placed.contains(rank);
}

bool RankClaims::may_start(const std::string& host, const RankRecord& rank) const {
  if (rank.start && rank.host == host) return true;
  if (rank.start && !is_placed(host, rank.rank)) return false;
  const auto found = hosts_.find(host);
  const std::size_t started = found == hosts_.end() ? 0 : found->second.ranks.size();
  return !counts_hold_ || started < places(host);
}

std::size_t RankClaims::places(const std::string& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.placed.size();
}

bool RankClaims::is_settled(const RankRecord& rank) const {
  if (!counts_hold_ || !rank.start || is_placed(rank.host, rank.rank)) return true;
  const auto placed_on = placed_on_.find(rank.rank);
  if (placed_on == placed_on_.end()) return true;
  const Host& host = hosts_.at(placed_on->second);
  return host.ranks.size() >= host.placed.size();
}

bool RankClaims::may_print(const std::string& host, const RankRecord& rank) const {
  return rank.start ? rank.host == host : is_placed(host, rank.rank);
}

bool RankClaims::may_have_printed(const std::string& host, int rank) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() &&
         (found->second.placed.contains(rank) || found->second.ranks.contains(rank));
}

bool RankClaims::may_end(const std::string& host, const RankRecord& rank) const {
  return may_print(host, rank);
}

}  // namespace muster::run
