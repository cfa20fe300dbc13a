// Output of a host's ranks that the launcher does not have yet. Pure.
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
  static constexpr std::size_t kRoom = std::size_t{1} << 20;    // per rank and stream
  static constexpr std::size_t kPiece = std::size_t{64} << 10;  // most that is sent at once

  // `at`: their position in the stream. There is a gap if an earlier warden was killed.
  void add(int rank, sys::Stream stream, std::uint64_t at, std::string_view bytes);
  // The position in the stream of the next bytes.
  [[nodiscard]] std::uint64_t end(int rank, sys::Stream stream) const;
  // Whether more of the rank's output may be added.
  [[nodiscard]] bool has_room(int rank) const;

  // The next piece to send, taking ranks in turn; nothing if all has been sent.
  [[nodiscard]] std::optional<Piece> next();

  // Drops what the launcher has.
  void forget(const std::vector<Taken>& taken);
  // For a new connection: everything that was not confirmed is sent again.
  void rewind();

 private:
  struct Kept {
    std::string bytes = {};
    std::uint64_t first = 0;  // position in the stream of `bytes`
    std::size_t sent = 0;     // of `bytes`
  };
  using Key = std::pair<int, sys::Stream>;

  void forget(const Key& key, std::uint64_t until);

  std::map<Key, Kept> kept_;
  Key last_ = {-1, sys::Stream::kOut};  // whose piece was sent last
};

}  // namespace muster::agent
