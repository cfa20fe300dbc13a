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

// The times at which things happen. They are the same for all ranks.
struct Schedule {
  Deadline second_look = {};
  Deadline tools_end = {};  // when py-spy and eu-stack are killed
  Deadline end = {};        // by then, the processes that these tools stopped run again
  int places = 1;           // how many samples of Python's position to take
  std::chrono::milliseconds sample_every{0};
  bool stacks = true;
  int patience = 1;  // see Request
};

// One thread calls watch(). Another one may copy the view at any time.
class RankWatch {
 public:
  RankWatch(RankProcesses processes, const Schedule& schedule,
            std::shared_ptr<const Recorders> recorders);

  // Does everything from the first look to the Python stack.
  void watch();
  // To be called after watch(). Stops the main thread for some tenths of a second. Skips a process
  // in state D: the stop would take effect only when its call returns, possibly after eu-stack has
  // given up, and then nothing would resume the process.
  void read_native_stack();
  // To be called during watch(). Only for a program without a recorder and without Python: two
  // native stacks show whether it makes progress.
  void read_first_stack();
  void note(const std::string& not_seen);

  [[nodiscard]] RankView view() const { return view_.copy(); }

 private:
  struct Answers;  // answers of the recorders
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
  std::vector<Recorder> recorders_;  // only those of this rank
  std::vector<ProcessLook> first_;
  Shared<RankView> view_;
  std::timed_mutex attached_;  // held while a debugger is attached to the main process
  pid_t main_ = 0;
  bool is_python_ = false;
  std::string pyspy_;           // empty: not found, or ptrace is not permitted
  bool pyspy_is_slow_ = false;  // if true, py-spy is not used for samples any more
  std::string why_no_pyspy_;    // the reason, as the end of a sentence
  bool has_traceback_ = false;  // false once the recorder failed to give one
  std::vector<Group> groups_before_;
  std::vector<std::string> handlers_;  // the handlers that have answered
  int failed_samples_ = 0;
};

}  // namespace muster::inspect
