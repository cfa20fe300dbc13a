// Our standard output and error.
//
// A thread of its own writes to them: a terminal that is paused must never keep us from our beats.
// What a slow or paused reader has not taken waits in memory and, if it is much, in files that have
// no name, so it costs no memory however long the pause is.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "run/disk_room.hpp"
#include "sys/file.hpp"
#include "sys/loop.hpp"
#include "sys/terminal_filter.hpp"

namespace muster::run {

class Screen {
 public:
  // `folder`: for the files.
  explicit Screen(std::string folder);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();  // after everything was written

  // Whole lines.
  void show(sys::Stream stream, std::string_view lines);
  // A line at the bottom that is drawn over when it changes or a whole line is shown; empty: none.
  // Only terminals have it.
  void set_live(sys::Stream stream, std::string line);
  // How many parts have not been written yet.
  [[nodiscard]] std::size_t waiting();

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {
    sys::Stream stream = sys::Stream::kOut;
    std::string text = {};  // empty: in the stream's file
    std::uint64_t at = 0;
    std::size_t bytes = 0;
  };
  struct Stored {
    sys::Fd file;
    std::uint64_t end = 0;
    std::size_t parts = 0;  // that wait
  };

  void work();
  void keep_in_memory(sys::Stream stream, std::string_view lines);
  void keep_in_file(sys::Stream stream, std::string_view lines);
  void write(const Part& part);
  void write_stored(const Part& part);
  void forget_stored(const Part& part);
  [[nodiscard]] Clock::time_point next_drawing() const;
  void draw(sys::Stream stream, const std::string& line);
  void erase();
  [[nodiscard]] Stored& stored(sys::Stream stream);
  [[nodiscard]] sys::ShownStream& shown(sys::Stream stream);

  std::string folder_;
  DiskRoom room_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  std::size_t in_memory_ = 0;  // bytes
  std::array<Stored, 2> stored_ = {};
  std::string live_;
  sys::Stream live_stream_ = sys::Stream::kErr;
  bool live_changed_ = false;
  Clock::time_point live_since_ = {};  // when it was empty last
  bool closing_ = false;
  // Of the thread alone.
  sys::ShownStream out_;
  sys::ShownStream err_;
  int drawn_on_ = -1;  // the descriptor that shows the live line now
  Clock::time_point drawn_ = {};
  std::thread thread_;
};

}  // namespace muster::run
