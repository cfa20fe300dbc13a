// Progress bars in the ranks' output: lines that are redrawn with carriage returns. If several
// ranks have one, only that of the lowest rank is shown. Pure.
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

// Whether a line was drawn more than once, as progress bars are. False if the drawing before the
// last one was blank, or if the line is complete and its last drawing begins by erasing the line.
[[nodiscard]] bool is_bar(std::string_view line);
// Whether control characters have left a line blank. False for a line that was empty from the
// start.
[[nodiscard]] bool shows_nothing(std::string_view line);
// Removes all control sequences except colours, so that the text stays on its line.
[[nodiscard]] std::string in_its_line(std::string_view text);
// Like in_its_line, but cut to fit into this many columns of a terminal.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

class Bars {
 public:
  // An unfinished line.
  struct Live {
    sys::Stream stream = sys::Stream::kOut;
    Source from = {};
    std::string text = {};  // what the line shows at present
    bool is_bar = false;
  };

  // Takes the rank's unfinished line as it is now, or "" if it has none. Returns how many lines the
  // rank has moved the cursor up since the last call; it will redraw those lines.
  std::size_t grow(sys::Stream stream, const Source& from, std::string_view line);
  // Like grow, for a complete line.
  std::size_t end(sys::Stream stream, const Source& from, std::string_view line);
  // Whether the rank has ever moved the cursor up. Its lines may then be rows of a progress bar
  // that has several.
  [[nodiscard]] bool is_tall(sys::Stream stream, int rank) const {
    return tall_.contains({rank, stream});
  }
  // Whether this rank's bars are shown.
  [[nodiscard]] bool shows(int rank) const { return rank <= lowest_; }
  // What to show below the last whole line: the bar, or else the lowest rank's unfinished line;
  // null if there is nothing.
  [[nodiscard]] const Live* live() const;

 private:
  using Key = std::pair<int, sys::Stream>;
  void notice_bar(int rank);
  [[nodiscard]] std::size_t moved_up(const Key& key, std::string_view line);

  int lowest_ = INT_MAX;               // the lowest rank that has had a bar
  std::map<Key, Live> live_;           // without the bars of hidden ranks
  std::map<Key, std::size_t> looked_;  // how many bytes of each unfinished line were searched
  std::set<Key> tall_;
};

}  // namespace muster::run
