// What the ranks say: shown as it comes, kept whole and by rank. The engine carries lines that the
// shims labelled "[host:rank] ".
#pragma once

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

  // So many more bytes are in the file.
  void grown(sys::Stream stream, std::size_t bytes);

 private:
  struct Piece {
    sys::Stream stream;
    std::size_t bytes;
  };
  void work();
  void copy(int from, std::uint64_t& offset, std::size_t bytes, int to);

  int out_file_;
  int err_file_;
  std::uint64_t out_at_ = 0;
  std::uint64_t err_at_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool closing_ = false;
  std::thread thread_;
};

// Parts labelled lines by rank; everything else is the engine's own. Pure but for the calls back.
class Demultiplexer {
 public:
  struct Line {
    int rank = -1;          // -1: the engine's own words
    std::string_view text;  // without its label, with its newline where it had one
  };
  Demultiplexer(std::set<std::string, std::less<>> hosts, int ranks)
      : hosts_(std::move(hosts)), ranks_(ranks) {}

  [[nodiscard]] Line parse(std::string_view line) const;

 private:
  std::set<std::string, std::less<>> hosts_;
  int ranks_;
};

// For who shows the lines himself.
using WatchLine = std::function<void(sys::Stream stream, const Demultiplexer::Line& line)>;

class Output {
 public:
  // `folder`: the run's. Everything is shown on the screen as it comes, unless somebody watches.
  [[nodiscard]] static Result<std::unique_ptr<Output>> open(
      const std::string& folder, std::set<std::string, std::less<>> hosts, int ranks,
      WatchLine watch = nullptr);
  ~Output();

  void take(sys::Stream stream, std::string_view chunk);
  void finish();     // what is left of unfinished lines, and everything to the files
  void show_rest();  // waits until the screen has it all
  // Why some of it could not be kept; empty: all of it was.
  [[nodiscard]] const std::string& not_kept() const { return not_kept_; }

  // The last that the engine itself said on its standard error.
  [[nodiscard]] const std::string& engine_errors() const { return engine_errors_; }

  // Bytes of the rank's that came through the engine, for comparison with what its shim counted.
  [[nodiscard]] std::uint64_t bytes(int rank, sys::Stream stream) const;
  // The file of a rank: ranks/3.out below the run's folder.
  [[nodiscard]] std::string rank_file(int rank, sys::Stream stream) const;
  // A last newline that the shim added to an unfinished line is taken off again.
  void drop_added_newline(int rank, sys::Stream stream);

 private:
  struct RankFile {
    std::string unwritten;
    std::uint64_t bytes = 0;
  };

  Output(std::string folder, Demultiplexer demultiplexer, WatchLine watch);
  void take_line(sys::Stream stream, std::string_view line);
  bool keep(int descriptor, std::string_view bytes);
  void write_out(int rank, sys::Stream stream, RankFile& file);

  std::string folder_;
  Demultiplexer demultiplexer_;
  WatchLine watch_;
  sys::Fd out_;
  sys::Fd err_;
  std::string unfinished_out_;
  std::string unfinished_err_;
  std::map<int, RankFile> rank_out_;
  std::map<int, RankFile> rank_err_;
  std::string engine_errors_;
  std::string not_kept_;
  std::unique_ptr<Screen> screen_;
};

}  // namespace muster::run
