// Writes to standard output and error.
//
// A separate thread does the writing, so that a paused terminal never delays the beats to the
// hosts. Text that a slow or paused reader has not taken waits in memory and, if it is much, in
// unnamed files. So memory stays bounded however long the pause is.
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
  // The unnamed files are created in `folder`.
  explicit Screen(std::string folder);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();  // waits until everything has been written

  // Shows whole lines.
  void show(sys::Stream stream, std::string_view lines);
  // Sets the line at the bottom, which is redrawn when it changes or a whole line is shown. An
  // empty line removes it. It is shown only on terminals.
  void set_live(sys::Stream stream, std::string line);
  // The number of parts not written yet.
  [[nodiscard]] std::size_t waiting();

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {
    sys::Stream stream = sys::Stream::kOut;
    std::string text = {};  // empty: the text is in the stream's file
    std::uint64_t at = 0;
    std::size_t bytes = 0;
  };
  struct Stored {
    sys::Fd file;
    std::uint64_t end = 0;
    std::size_t parts = 0;  // parts that wait in the file
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
  Clock::time_point live_since_ = {};  // when the line last appeared
  bool closing_ = false;
  // Used by the writing thread only.
  sys::ShownStream out_;
  sys::ShownStream err_;
  int drawn_on_ = -1;  // the descriptor that currently shows the live line
  Clock::time_point drawn_ = {};
  std::thread thread_;
};

}  // namespace muster::run
