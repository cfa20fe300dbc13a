// Progress bars in the ranks' output: lines that are drawn again and again by means of carriage
// returns. Of all ranks that have one, only the lowest is shown. Pure.
#pragma once

#include <climits>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "run/folding.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// Whether a line was drawn more than once. A bar that was blanked before the line was written does
// not count, nor does a complete line after a bar that was erased.
[[nodiscard]] bool is_bar(std::string_view line);
// Whether a line that was drawn ends up blank.
[[nodiscard]] bool shows_nothing(std::string_view line);
// The text without control sequences other than colours, so that it stays on its line.
[[nodiscard]] std::string in_its_line(std::string_view text);
// The same, at most that wide on a terminal.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

class Bars {
 public:
  // An unfinished line.
  struct Live {
    sys::Stream stream = sys::Stream::kOut;
    Source from = {};
    std::string text = {};  // as it is seen now
    bool is_bar = false;
  };

  // The rank's unfinished line as it is now; empty: there is none. Returns by how many lines the
  // rank has moved the cursor up since the last call, to draw over earlier lines.
  std::size_t grow(sys::Stream stream, const Source& from, std::string_view line);
  // The same for a line that is complete.
  std::size_t end(sys::Stream stream, const Source& from, std::string_view line);
  // Whether the rank has moved the cursor up before: its lines may be rows of a bar.
  [[nodiscard]] bool is_tall(sys::Stream stream, int rank) const {
    return tall_.contains({rank, stream});
  }
  // Whether this rank's bars are shown.
  [[nodiscard]] bool shows(int rank) const { return rank <= lowest_; }
  // What is shown below the last whole line: the bar, or else the unfinished line of the lowest
  // rank that has one; null: nothing.
  [[nodiscard]] const Live* live() const;

 private:
  using Key = std::pair<int, sys::Stream>;
  void notice_bar(int rank);
  [[nodiscard]] std::size_t moved_up(const Key& key, std::string_view line);

  int lowest_ = INT_MAX;               // rank with a bar so far
  std::map<Key, Live> live_;           // no bars of other ranks
  std::map<Key, std::size_t> looked_;  // bytes of the unfinished line seen so far
  std::set<Key> tall_;
};

}  // namespace muster::run
