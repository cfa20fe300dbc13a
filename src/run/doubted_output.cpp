#include "run/doubted_output.hpp"

#include "agent/rank_spool.hpp"

namespace muster::run {
namespace {

// Twice what the host's spool holds for the two streams of a rank.
constexpr std::size_t kBytesPerRank = 4 * agent::RankSpool::kRoom;

}  // namespace

void DoubtedOutput::hold(std::size_t host, const agent::Piece& piece, std::size_t ranks) {
  Held& held = hosts_[host];
  held.full = held.full || held.bytes + piece.bytes.size() > kBytesPerRank * ranks;
  // Drop even a later piece that would fit, because the held output must have no gap.
  if (held.full) return;
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
