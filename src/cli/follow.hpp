// Shows the stored output of a run, which may still be running.
#pragma once

#include <string>

#include "run/log_filter.hpp"
#include "run/log_order.hpp"

namespace muster::cli {

// While an object of this class exists, Ctrl-C ends the watching and not the run. A second Ctrl-C
// ends muster.
class LeaveOnInterrupt {
 public:
  LeaveOnInterrupt();
  LeaveOnInterrupt(const LeaveOnInterrupt&) = delete;
  LeaveOnInterrupt& operator=(const LeaveOnInterrupt&) = delete;
  ~LeaveOnInterrupt();

  [[nodiscard]] static bool came();
};

struct Watching {
  run::LogWish wish = {};
  double since_s = 0;
  bool streams_apart = false;  // false: the ranks' stderr goes to standard output too
};

// Shows what has been stored so far.
void show_stored(const std::string& folder, const Watching& how);

// Shows everything from the beginning of the attempt in `folder` to the end of the run, including
// restarts, or until the user leaves. Returns the folder of the last attempt that was shown.
[[nodiscard]] std::string follow_run(std::string folder, const Watching& how);

// Tells the user, who has pressed Ctrl-C, how to watch the run again and how to end it. Returns the
// exit code.
[[nodiscard]] int leave_running(const std::string& folder);

}  // namespace muster::cli
