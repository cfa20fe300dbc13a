// Shows the stored output of a run that has ended or still runs.
#pragma once

#include <string>

#include "run/log_filter.hpp"
#include "run/log_order.hpp"

namespace muster::cli {

// While one of these exists, Ctrl-C stops the watching, not the run; a second Ctrl-C ends muster.
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
  bool streams_apart = false;  // the ranks' stderr goes to ours, else to standard output too
};

// What is stored now.
void show_stored(const std::string& folder, const Watching& how);

// From the beginning of the attempt in `folder` to the end of the run, restarts included, or until
// the user leaves. Returns the folder of the attempt that was shown last.
[[nodiscard]] std::string follow_run(std::string folder, const Watching& how);

// Tells a user who leaves how to come back and how to end the run; returns the exit code.
[[nodiscard]] int leave_running(const std::string& folder);

}  // namespace muster::cli
