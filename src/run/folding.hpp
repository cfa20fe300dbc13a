// Merges equal lines that several ranks print within a short time. Pure.
//
// A line waits until no further rank has joined it for kQuiet, but at most for kLongest. The lines
// of one rank keep their order. When too many lines wait, the oldest are released early.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sys/loop.hpp"

namespace muster::run {

// The origin of a line.
struct Source {
  int rank = 0;
  std::string host = {};
  auto operator<=>(const Source&) const = default;
};

// Returns "[n1:0]" or "[n[1-4]:0-31]".
[[nodiscard]] std::string label_of(const std::vector<Source>& sources);
// The label in the colour of the stream.
[[nodiscard]] std::string painted_label(sys::Stream stream, const std::vector<Source>& sources,
                                        bool colours);

class Folding {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kQuiet{200};
  static constexpr std::chrono::milliseconds kLongest{1000};
  // Only this many of a rank's last lines can be withdrawn.
  static constexpr std::size_t kMostRows = 32;

  struct Line {
    sys::Stream stream = sys::Stream::kOut;
    std::vector<Source> from = {};  // in rank order
    std::string text = {};          // with its newline
  };

  // `ranks` is the number of ranks that are shown. A line that all of them have printed waits no
  // longer. If `joins` is false, nothing is merged, and only lines that may be withdrawn wait.
  Folding(int ranks, bool joins) : ranks_(static_cast<std::size_t>(ranks)), joins_(joins) {}

  // `may_change` means that the line belongs to a progress bar, which the rank may redraw.
  void add(sys::Stream stream, const Source& from, std::string_view text, bool may_change,
           Clock::time_point now);
  // Records that the rank printed a line that is not shown, so that `withdraw` counts it as one of
  // the rank's rows.
  void skip(sys::Stream stream, int rank);
  // Withdraws the rank's last `rows` lines, as far as they still wait, because the rank redraws
  // them.
  void withdraw(sys::Stream stream, int rank, std::size_t rows);

  [[nodiscard]] std::vector<Line> take_due(Clock::time_point now);
  [[nodiscard]] std::vector<Line> take_all();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // Whether more lines wait than should. Call take_due then.
  [[nodiscard]] bool is_full() const;

 private:
  struct Waiting {
    Line line = {};
    bool may_change = false;
    Clock::time_point since = {};
    Clock::time_point joined = {};  // when the last rank joined
  };

  [[nodiscard]] std::optional<std::uint64_t> find(const std::string& key, int rank) const;
  [[nodiscard]] bool is_due(const Waiting& one, Clock::time_point now) const;
  [[nodiscard]] Line take_first();
  void remember_row(sys::Stream stream, int rank, std::uint64_t number);

  std::size_t ranks_;
  bool joins_;
  std::deque<Waiting> waiting_;
  std::uint64_t first_ = 0;  // the number of the first waiting line
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, std::deque<std::uint64_t>> numbers_;  // by stream and text
  std::map<int, std::uint64_t> next_;  // by rank: the lowest number that its next line may have
  std::map<std::pair<int, sys::Stream>, std::deque<std::uint64_t>> rows_;  // a rank's last lines
};

}  // namespace muster::run
