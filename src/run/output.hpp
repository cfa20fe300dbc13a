// The ranks' output: shown in labelled lines as it arrives, and stored per rank, byte for byte. The
// engine's own output is stored separately.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/protocol.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"

namespace muster::run {

// Writes to our standard output and error on a thread of its own: a terminal that is paused must
// never keep us from our beats. Reads what it writes from the run's files, so it costs no memory.
class Screen {
 public:
  Screen(int out_file, int err_file);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();  // after everything was written

  // A part of the stream's file.
  struct Part {
    sys::Stream stream = sys::Stream::kOut;
    std::uint64_t at = 0;
    std::size_t bytes = 0;
  };
  void show(const Part& part);
  // How many parts have not been written yet.
  [[nodiscard]] std::size_t waiting();

 private:
  void work();
  [[nodiscard]] Part* part_before(const Part& part);

  int out_file_;
  int err_file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  bool closing_ = false;
  std::thread thread_;
};

// A line of a rank, without its label, but with its newline if it has one.
struct Line {
  int rank = -1;  // -1: the engine's own output
  std::string_view text;
};

// For a caller that shows the lines itself.
using WatchLine = std::function<void(sys::Stream stream, const Line& line)>;

class Output {
 public:
  // `folder`: the run's; `ranks`: how many there are. Everything is shown on the screen as it
  // arrives, unless `watch` is given.
  [[nodiscard]] static Result<std::unique_ptr<Output>> open(const std::string& folder, int ranks,
                                                            WatchLine watch = nullptr);
  ~Output();

  // Takes a piece of a rank's output from that host and skips bytes that we already have. False if
  // there is no such rank.
  bool take(const std::string& host, const agent::Piece& piece);
  // Takes the engine's own output.
  void take_engine(sys::Stream stream, std::string_view chunk);
  // Shows a remark of muster's about a rank, which must be printable, without storing it.
  void remark(const std::string& host, int rank, std::string_view text);
  // From now on, stores what ranks write to standard error but does not show it: most of it is
  // about the end of the rank that failed.
  void a_rank_failed();
  void no_rank_failed();  // takes it back, and shows what was held back
  // Shows what was held back of ranks that seemed about to end and did not.
  void show_old();
  // Shows what was held back of this rank only, or (-1) of all ranks.
  void show_held(int rank);
  // Whether the last standard error shown was this rank's.
  [[nodiscard]] bool shown_last(int rank) const { return shown_last_ == rank; }
  void finish();     // what is left of unfinished lines, and everything to the files
  void show_rest();  // waits until the screen has it all
  // Why some of it could not be kept; empty: all of it was.
  [[nodiscard]] const std::string& not_kept() const { return not_kept_; }

  // How much we have of the output of each of the host's ranks.
  [[nodiscard]] std::vector<agent::Taken> taken(const std::string& host) const;
  // The last lines, `most` at most, of the rank's standard error or of the engine's output.
  [[nodiscard]] std::vector<std::string> last_errors(int rank, std::size_t most) const;
  [[nodiscard]] std::vector<std::string> last_of_engine(std::size_t most) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    int rank = 0;
    Screen::Part part = {};
    Clock::time_point since = {};
  };
  struct Received {
    std::uint64_t bytes = 0;
    std::string unfinished = {};  // last line
  };
  // torchrun may start a rank again on another host.
  using Key = std::tuple<std::string, int, sys::Stream>;

  Output(std::string folder, int ranks, WatchLine watch);
  [[nodiscard]] std::string rank_file(int rank, sys::Stream stream) const;
  void show(sys::Stream stream, int rank, std::string_view labelled);
  void show_part(int rank, const Screen::Part& part);
  std::size_t keep(const sys::Fd& file, std::string_view bytes);  // returns how many
  void keep_order(sys::Stream stream);
  [[nodiscard]] bool disk_has_room(std::size_t bytes);

  std::string folder_;
  int ranks_;
  std::map<Key, Received> received_;
  WatchLine watch_;
  sys::Fd out_;
  sys::Fd err_;
  sys::Fd engine_;
  sys::Fd order_;
  std::uint64_t out_bytes_ = 0;  // in the files
  std::uint64_t err_bytes_ = 0;
  bool rank_failed_ = false;
  std::set<int> doubtful_;  // ranks that seem about to end
  std::deque<Held> held_;
  int shown_last_ = -1;         // the rank whose standard error it was
  std::size_t unfinished_ = 0;  // bytes of all lines that ranks have not finished
  // Bytes that may be written before the next look at the disk: those of most runs.
  std::size_t before_look_ = std::size_t{16} << 20;
  bool disk_is_short_ = false;
  std::string engine_unfinished_;
  std::string not_kept_;
  std::unique_ptr<Screen> screen_;
};

}  // namespace muster::run
