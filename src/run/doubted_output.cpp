#include "run/doubted_output.hpp"

#include "agent/rank_spool.hpp"

namespace muster::run {
namespace {

// Of both streams; the last read may go beyond the spool's room.
constexpr std::size_t kBytesPerRank = 2 * (agent::RankSpool::kRoom + agent::RankSpool::kPiece);

}  // namespace

void DoubtedOutput::hold(std::size_t host, const agent::Piece& piece, std::size_t ranks) {
  Held& held = hosts_[host];
  if (held.bytes + piece.bytes.size() > kBytesPerRank * ranks) return;
  held.bytes += piece.bytes.size();
  held.pieces.push_back(piece);
}

std::vector<std::pair<std::size_t, agent::Piece>> DoubtedOutput::take() {
  std::vector<std::pair<std::size_t, agent::Piece>> all;
  for (auto& [host, held] : std::exchange(hosts_, {})) {
    for (agent::Piece& piece : held.pieces) all.emplace_back(host, std::move(piece));
  }
  return all;
}

}  // namespace muster::run
