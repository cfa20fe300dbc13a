// Shows the ranks' output on standard output and error: selected ranks, equal lines once, progress
// bars in place, coloured labels. If ranks print faster than anyone can read, a terminal gets only
// part of their lines. Pipes and files get all lines of the selected ranks as they arrive, unless
// the user asks for folding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/bars.hpp"
#include "run/folding.hpp"
#include "run/pace.hpp"
#include "run/screen.hpp"
#include "run/show.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// Whole lines of a rank.
struct SourceLines {
  Source from = {};
  std::string lines = {};
};

class Display {
 public:
  // How much of a rank's last lines a terminal gets, in bytes.
  static constexpr std::size_t kMostOfAnEnding = std::size_t{256} << 10;

  // `folder` is the run's folder, `ranks` the number of its ranks.
  Display(const std::string& folder, int ranks, Show show);

  // Shows whole lines of a rank.
  void show(sys::Stream stream, const Source& from, std::string_view lines);
  // Shows whole lines of standard error that say how a rank ended. Of very many, a terminal gets
  // the last, at any pace.
  void show_ending(const std::vector<SourceLines>& parts);
  // Takes the rank's unfinished line as it is now, or "" if it has none.
  void grow(sys::Stream stream, const Source& from, std::string_view line);
  // Shows whole lines of the engine.
  void show_engine(std::string_view lines);
  // Shows whole lines from muster itself on standard error.
  void say(std::string_view lines);
  // Show lines that have waited long enough for equal ones, or all waiting lines.
  void show_due();
  void show_all();
  [[nodiscard]] bool has_waiting() const {
    return !folding_.empty() || out_pace_.has_left_out() || err_pace_.has_left_out();
  }
  // Whether the standard error that was shown last came from this rank.
  [[nodiscard]] bool shown_last(int rank) const;
  [[nodiscard]] bool shows(int rank) const { return show_.shows(rank); }
  // Shows this rank too from now on.
  void reveal(int rank) {
    if (show_.ranks) show_.ranks->insert(rank);
  }

 private:
  struct Style {
    bool is_terminal = false;
    bool draws = false;  // draws progress bars in place
    bool folds = false;
    bool colours = false;
    [[nodiscard]] bool is_plain() const { return !is_terminal && !folds; }
  };

  [[nodiscard]] static Style style_on(int descriptor, const Show& show);
  [[nodiscard]] const Style& style(sys::Stream stream) const;
  [[nodiscard]] std::string label(sys::Stream stream, const std::vector<Source>& from) const;
  void take_line(sys::Stream stream, const Source& from, std::string_view line);
  void put(const std::vector<Folding::Line>& lines);
  void put_line(const Folding::Line& line);
  void leave_out(sys::Stream stream, const Source& from, std::size_t lines);
  void tell_left_out(sys::Stream stream, std::uint64_t lines);
  [[nodiscard]] Pace& pace(sys::Stream stream);
  [[nodiscard]] bool is_paced(sys::Stream stream) const {
    return style(stream).is_terminal && !shows_ending_;
  }
  void put_live();

  Show show_;
  Style out_;
  Style err_;
  Folding folding_;
  Bars bars_;
  std::string run_id_;
  Pace out_pace_;
  Pace err_pace_;
  bool shows_ending_ = false;
  std::vector<Source> last_errors_;  // the ranks whose standard error was shown last
  Screen screen_;
};

// Puts the label and a blank before each line.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view lines);

}  // namespace muster::run
