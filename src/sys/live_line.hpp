// Shows the progress of long work in one line at the bottom of the terminal. It appears only on
// standard error, and only if that is a terminal. Any other output of muster erases it first.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::sys {

class LiveLine {
 public:
  LiveLine() = default;
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Replaces the text shown before. Never waits for a terminal whose output is paused.
  void show(const std::string& text);
  void clear();
};

// Called at the start of long work, and again whenever a part is done.
using OnProgress = std::function<void(std::string_view what, std::size_t done, std::size_t of_all)>;

// Shows "checking the hosts: 3 of 16", at most ten times a second.
class Progress {
 public:
  void show(std::string_view what, std::size_t done, std::size_t of_all);
  void clear() { line_.clear(); }
  // A function that calls show(); the Progress must outlive the work.
  [[nodiscard]] OnProgress shown();

 private:
  LiveLine line_;
  std::string what_;
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace muster::sys
