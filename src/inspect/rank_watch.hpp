// Watches the processes of one rank during the inspection.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "inspect/crew.hpp"
#include "inspect/inspect.hpp"
#include "inspect/processes.hpp"
#include "inspect/recorder.hpp"

namespace muster::inspect {

// When what happens; the same for all ranks.
struct Schedule {
  Deadline second_look = {};
  Deadline tools_end = {};  // of py-spy and eu-stack: they are killed then
  Deadline end = {};        // before that what they stopped runs again
  int places = 1;           // how often it is asked where Python is, in the window
  std::chrono::milliseconds sample_every{0};
  bool stacks = true;
  int patience = 1;  // as in the Request
};

// One thread watches; another one may copy the view at any time.
class RankWatch {
 public:
  RankWatch(RankProcesses processes, const Schedule& schedule,
            std::shared_ptr<const Recorders> recorders);

  // From the first look to the Python stack.
  void watch();
  // Afterwards: stops the main thread for some tenths of a second. Not a process in state D: the
  // stop would reach it when its call returns, and nobody would then continue it.
  void read_native_stack();
  // Meanwhile, of a program without a recorder and without Python: two native stacks tell whether
  // it moves.
  void read_first_stack();
  void note(const std::string& not_seen);

  [[nodiscard]] RankView view() const { return view_.copy(); }

 private:
  struct Answers;  // of the recorders
  struct NativeStack {
    std::vector<Frame> frames = {};
    std::string why_none = {};
  };

  [[nodiscard]] NativeStack take_native_stack(pid_t pid, std::chrono::milliseconds least,
                                              Deadline deadline);
  void look_first();
  void look_again();
  void learn_names();
  [[nodiscard]] Answers ask_recorders() const;
  void take_first_answers();
  [[nodiscard]] bool take_last_answers();
  void sample();
  void sample_collectives();
  void sample_place();
  void read_python_stack();
  [[nodiscard]] std::vector<Frame> python_frames(std::string& source, Deadline deadline);
  [[nodiscard]] std::vector<Frame> traceback_frames(Deadline deadline);
  [[nodiscard]] bool is_stopped() const;

  std::vector<pid_t> pids_;
  Schedule schedule_;
  std::shared_ptr<const Recorders> all_recorders_;
  std::vector<Recorder> recorders_;  // of this rank
  std::vector<ProcessLook> first_;
  Shared<RankView> view_;
  std::timed_mutex attached_;  // while a debugger is attached to the main process
  pid_t main_ = 0;
  bool is_python_ = false;
  std::string pyspy_;           // empty: there is none, or ptrace is not permitted
  bool pyspy_is_slow_ = false;  // it is not asked for samples any more
  std::string why_no_pyspy_;    // a sentence's end
  bool has_traceback_ = false;  // the recorder has not failed to give one
  std::vector<Group> groups_before_;
  std::vector<std::string> handlers_;  // those that answered
  int failed_samples_ = 0;
};

}  // namespace muster::inspect
