// How far long work has come, in one line at the bottom of the terminal. Only standard error shows
// it, and only if that is a terminal; whatever else muster prints takes the line's place.
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

  // In place of what it showed before. Never waits for a terminal that is paused.
  void show(const std::string& text);
  void clear();
};

// Called at the start of long work, and again for each part that is done.
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
