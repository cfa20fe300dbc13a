#include "run/rank_claims.hpp"

namespace muster::run {

RankClaims::RankClaims(const std::vector<RankRecord>& ranks, bool counts_hold)
    : counts_hold_(counts_hold) {
  for (const RankRecord& rank : ranks) hosts_[rank.host].placed.insert(rank.rank);
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
  const std::size_t placed = found == hosts_.end() ? 0 : found->second.placed.size();
  return !counts_hold_ || started < placed;
}

bool RankClaims::may_print(const std::string& host, int rank) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() &&
         (found->second.placed.contains(rank) || found->second.ranks.contains(rank));
}

bool RankClaims::may_end(const std::string& host, const RankRecord& rank) const {
  return rank.start ? rank.host == host : is_placed(host, rank.rank);
}

}  // namespace muster::run
