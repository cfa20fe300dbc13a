// The ranks' output: shown in labelled lines as it arrives, and stored per rank, byte for byte. The
// engine's own output is stored separately.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "agent/protocol.hpp"
#include "base/error.hpp"
#include "run/disk_room.hpp"
#include "run/display.hpp"
#include "run/log_limit.hpp"
#include "run/show.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// A rank's line without its label, with its newline if it has one.
struct Line {
  int rank = -1;  // -1: the engine's output
  std::string_view text;
};

// Gets each line, for callers that show the lines themselves.
using WatchLine = std::function<void(sys::Stream stream, const Line& line)>;

// Who sees the output, and how.
struct Audience {
  WatchLine watch = nullptr;  // if given, nothing is shown on the screen
  Show show = {};
  // When the engine's own output is shown.
  enum class Engine { kIfTheRunFails, kAsItComes, kNever };
  Engine engine = Engine::kIfTheRunFails;
};

class Output {
 public:
  // `folder` is the run's folder, `ranks` the number of its ranks. `most_stored` bounds what is
  // stored, in bytes; 0: no limit.
  [[nodiscard]] static Result<std::unique_ptr<Output>> open(const std::string& folder, int ranks,
                                                            Audience audience = {},
                                                            std::uint64_t most_stored = 0);
  ~Output();

  // Takes a piece of a rank's output from `host`. Skips bytes that were taken before. Returns false
  // if there is no such rank.
  bool take(const std::string& host, const agent::Piece& piece);
  // Takes the engine's own output.
  void take_engine(sys::Stream stream, std::string_view chunk);
  // Shows and stores a remark about a rank. `text` must be printable.
  void remark(const std::string& host, int rank, std::string_view text);
  // Shows muster's own lines during the run without disturbing a progress bar. Never waits for a
  // terminal whose output is paused.
  void say(std::string_view lines);
  // From now on, the ranks' standard error is stored but held back from the screen, because most of
  // it is about the end of the rank that failed.
  void a_rank_failed();
  void no_rank_failed();  // undoes a_rank_failed and shows what was held back
  // Shows lines that were held back because their ranks seemed about to end, if no rank has failed
  // within a few seconds.
  void show_old();
  // Shows the held-back lines of this rank, or of all ranks (-1), and drops the others. For a rank
  // that is normally hidden, shows the end of its standard error instead.
  void show_held(int rank);
  // The ranks whose lines are being held back.
  [[nodiscard]] std::set<int> held_ranks() const;
  // Whether some lines wait for equal lines of other ranks. While they do, call show_due regularly.
  [[nodiscard]] bool has_waiting() const { return display_ && display_->has_waiting(); }
  void show_due();
  // Whether the standard error that was shown last came from this rank.
  [[nodiscard]] bool shown_last(int rank) const { return display_ && display_->shown_last(rank); }
  void finish();     // completes unfinished lines; shows and stores them
  void show_rest();  // waits until everything is on the screen
  // Why some output could not be stored; empty if all was.
  [[nodiscard]] const std::string& not_kept() const { return not_kept_; }

  // How many bytes of stored lines were dropped because of the limit.
  [[nodiscard]] std::uint64_t dropped() const { return limit_.dropped(); }

  // How much output of each of the host's ranks has been received.
  [[nodiscard]] std::vector<agent::Taken> taken(const std::string& host) const;
  // The last lines, at most `most`, of the rank's standard error or of the engine's output.
  [[nodiscard]] std::vector<std::string> last_errors(int rank, std::size_t most) const;
  [[nodiscard]] std::vector<std::string> last_of_engine(std::size_t most) const;
  [[nodiscard]] std::string engine_file() const { return folder_ + "/engine"; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Source from = {};
    std::string lines = {};
    Clock::time_point since = {};
  };
  struct Received {
    std::uint64_t bytes = 0;
    std::string unfinished = {};  // the last line so far
  };
  // The host is part of the key because torchrun may restart a rank on another host.
  using Key = std::tuple<std::string, int, sys::Stream>;

  Output(std::string folder, int ranks, Audience audience, std::uint64_t most_stored);
  [[nodiscard]] static std::string rank_file(int rank, sys::Stream stream);
  void show(sys::Stream stream, const Source& from, std::string_view lines);
  void show_now(sys::Stream stream, const Source& from, std::string_view lines);
  void reveal(int rank);
  void store(sys::Stream stream, const Source& from, std::string_view lines);
  void cut_bar(sys::Stream stream, const Source& from, std::string& unfinished);
  [[nodiscard]] bool is_held(sys::Stream stream, int rank) const;
  void say_engine_line(sys::Stream stream, std::string_view line);
  // Appends to a file of the run's folder.
  void keep(const sys::Fd& file, const std::string& name, std::string_view bytes);
  void keep_order(sys::Stream stream);

  std::string folder_;
  int ranks_;
  std::map<Key, Received> received_;
  Audience audience_;
  sys::Fd out_;
  sys::Fd err_;
  sys::Fd engine_;
  sys::Fd order_;
  bool rank_failed_ = false;
  std::set<int> doubtful_;  // ranks that seem about to end
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
  std::size_t unfinished_ = 0;  // bytes of all unfinished lines
  DiskRoom room_;
  LogLimit limit_;
  std::string engine_unfinished_;
  std::string not_kept_;
  std::unique_ptr<Display> display_;
};

}  // namespace muster::run
