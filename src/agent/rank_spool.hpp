// Output of a host's ranks that the launcher has not confirmed yet. Pure.
//
// The spool keeps everything until the launcher confirms it, so that a lost connection loses no
// output. Its size is bounded: a rank whose output is not confirmed has to wait (see `has_room`),
// as it would for a slow terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/protocol.hpp"

namespace muster::agent {

class RankSpool {
 public:
  // Most bytes kept per rank and stream.
  static constexpr std::size_t kRoom = std::size_t{1} << 20;
  static constexpr std::size_t kPiece = std::size_t{64} << 10;  // the most that is sent at once

  // `at` is the position of `bytes` in the stream. There is a gap before it if an earlier warden
  // was killed.
  void add(int rank, sys::Stream stream, std::uint64_t at, std::string_view bytes);
  // The position in the stream that follows all bytes so far.
  [[nodiscard]] std::uint64_t end(int rank, sys::Stream stream) const;
  // Whether more of the rank's output may be added.
  [[nodiscard]] bool has_room(int rank) const;

  // The next piece to send. Ranks take turns. Nothing if everything has been sent.
  [[nodiscard]] std::optional<Piece> next();

  // Drops the output that the launcher has confirmed.
  void forget(const std::vector<Taken>& taken);
  // Sends everything again that was not confirmed. For a new connection.
  void rewind();

 private:
  struct Kept {
    std::string bytes = {};
    std::uint64_t first = 0;  // position of `bytes` in the stream
    std::size_t sent = 0;     // how many of `bytes` have been sent
  };
  using Key = std::pair<int, sys::Stream>;

  void forget(const Key& key, std::uint64_t until);

  std::map<Key, Kept> kept_;
  Key last_ = {-1, sys::Stream::kOut};  // key of the piece that was sent last
};

}  // namespace muster::agent
