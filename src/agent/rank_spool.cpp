#include "agent/rank_spool.hpp"

#include <algorithm>

namespace muster::agent {

void RankSpool::add(int rank, sys::Stream stream, std::uint64_t at, std::string_view bytes) {
  Kept& kept = kept_[{rank, stream}];
  if (at != kept.first + kept.bytes.size()) kept = {.first = at};
  kept.bytes.append(bytes);
}

std::uint64_t RankSpool::end(int rank, sys::Stream stream) const {
  const auto found = kept_.find({rank, stream});
  return found == kept_.end() ? 0 : found->second.first + found->second.bytes.size();
}

bool RankSpool::has_room(int rank) const {
  for (const sys::Stream stream : {sys::Stream::kOut, sys::Stream::kErr}) {
    const auto found = kept_.find({rank, stream});
    if (found != kept_.end() && found->second.bytes.size() >= kRoom) return false;
  }
  return true;
}

std::optional<Piece> RankSpool::next() {
  const auto has_more = [](const auto& entry) {
    return entry.second.sent < entry.second.bytes.size();
  };
  auto found = std::find_if(kept_.upper_bound(last_), kept_.end(), has_more);
  if (found == kept_.end()) found = std::find_if(kept_.begin(), kept_.end(), has_more);
  if (found == kept_.end()) return std::nullopt;
  auto& [key, kept] = *found;
  Piece piece{.rank = key.first,
              .stream = key.second,
              .at = kept.first + kept.sent,
              .bytes = kept.bytes.substr(kept.sent, kPiece)};
  kept.sent += piece.bytes.size();
  last_ = key;
  return piece;
}

void RankSpool::forget(const Key& key, std::uint64_t until) {
  const auto found = kept_.find(key);
  if (found == kept_.end() || until <= found->second.first) return;
  Kept& kept = found->second;
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(until - kept.first, kept.bytes.size()));
  kept.bytes.erase(0, count);
  kept.first += count;
  kept.sent -= std::min(kept.sent, count);
}

void RankSpool::forget(const std::vector<Taken>& taken) {
  for (const Taken& one : taken) {
    forget({one.rank, sys::Stream::kOut}, one.out);
    forget({one.rank, sys::Stream::kErr}, one.err);
  }
}

void RankSpool::rewind() {
  for (auto& [key, kept] : kept_) kept.sent = 0;
}

}  // namespace muster::agent
