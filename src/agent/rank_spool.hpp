// What a host's ranks wrote and the launcher does not have yet. Pure.
//
// Everything is kept until the launcher says that it has it, so that a lost connection loses no
// output. A rank whose output is not taken is held up (see `has_room`), as it would be by a slow
// terminal: what is kept has a bound.
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
  static constexpr std::size_t kRoom = std::size_t{1} << 20;    // of a rank's stream
  static constexpr std::size_t kPiece = std::size_t{64} << 10;  // that is sent at once

  // `at`: where in the stream they begin. A gap is left by a warden that was killed.
  void add(int rank, sys::Stream stream, std::uint64_t at, std::string_view bytes);
  // Where in the stream the next bytes belong.
  [[nodiscard]] std::uint64_t end(int rank, sys::Stream stream) const;
  // Whether more of the rank's output may be added.
  [[nodiscard]] bool has_room(int rank) const;

  // The next piece to send, ranks in turn; nothing: all was sent.
  [[nodiscard]] std::optional<Piece> next();

  // The launcher has this much, and need never get it again.
  void forget(const std::vector<Taken>& taken);
  // A new connection: everything that was not taken is sent again.
  void rewind();

 private:
  struct Kept {
    std::string bytes = {};
    std::uint64_t first = 0;  // where in the stream `bytes` begin
    std::size_t sent = 0;     // of `bytes`
  };
  using Key = std::pair<int, sys::Stream>;

  void forget(const Key& key, std::uint64_t until);

  std::map<Key, Kept> kept_;
  Key last_ = {-1, sys::Stream::kOut};  // whose piece was sent last
};

}  // namespace muster::agent
