// Stays on a host for the length of a run. Passes the ranks' events and output on, and ends what is
// left of the run when the launcher says so or is gone for too long.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/channel.hpp"
#include "agent/handout.hpp"
#include "agent/host_system.hpp"
#include "agent/inspector.hpp"
#include "agent/memory_watch.hpp"
#include "agent/protocol.hpp"
#include "agent/rank_links.hpp"
#include "agent/rank_spool.hpp"

namespace muster::agent {

class Warden {
 public:
  // `folder` is the run's, there already.
  Warden(std::string run_id, std::string folder, HostSystem& system);

  // Opens its sockets: for ranks, and for a launcher that lost its connection. `handout`: see
  // HandoutDesk.
  [[nodiscard]] Result<void> prepare(const std::optional<Handout>& handout);

  // What is left to do: see clean_up.
  struct Rest {
    std::vector<RankStart> starts;
    bool keep = false;  // the run's folder
  };
  // Until bye, or until the launcher was gone for `orphan_after_s`, or until SIGTERM.
  [[nodiscard]] Rest serve(Channel launcher, double orphan_after_s);

 private:
  using Clock = HostSystem::Clock;

  void wait();
  void admit();
  void obey(const Order& order);
  void be_patient(double orphan_after_s);
  void begin();
  void pass_on_news(RankLinks::Reads how);
  [[nodiscard]] bool is_shim(const ProcessId& process) const;
  void report(const Event& event);
  void note_gone(int rank);
  void send_output(bool all);
  void send_kernel_log();
  void begin_inspection(const Inspection& what);
  void go_on_inspecting();
  void answer_inspection(int number, const inspect::HostView& view);
  void dismiss_inspector();
  void look_at_dismissed();
  void start_ending(double grace_s);
  void go_on_ending();
  void leave(bool keep);

  std::string run_id_;
  std::string folder_;
  HostSystem& system_;
  MemoryWatch memory_;
  Channel launcher_;
  sys::Fd listener_;
  sys::Fd terminated_;  // readable after a SIGTERM: Slurm ends the job, or the host goes down
  HandoutDesk desk_;
  RankLinks links_;
  RankSpool spool_;
  std::vector<Event> events_;
  std::map<int, RankStart> starts_;  // by rank
  std::map<int, bool> ended_;        // by rank
  Clock::time_point heard_;          // the launcher, last
  Clock::time_point next_beat_;
  double orphan_after_s_ = 60;
  bool ending_ = false;
  bool told_to_end_ = false;  // we told the ranks to
  int had_to_end_ = 0;
  Clock::time_point kill_at_;
  std::optional<Clock::time_point> gone_by_;  // what was killed; nothing: nobody was yet
  std::optional<bool> bye_;  // said while the ranks were being ended: keep the folder?
  struct Inspecting {
    Inspection what;
    Inspector inspector;
    std::string said = {};  // by the inspector, so far
    Clock::time_point give_up;
  };
  std::optional<Inspecting> inspecting_;
  struct Dismissed {
    pid_t pid = 0;
    Clock::time_point kill_at;
    bool killed = false;
  };
  std::vector<Dismissed> dismissed_;  // inspectors that were told to end and may not have yet
  bool rank_failed_ = false;
  std::vector<std::string> kernel_log_;  // what has been sent of it
  bool over_ = false;
  bool keep_ = false;  // the run's folder, then
};

// Connected to the warden of the run with this folder; no descriptor: there is none.
[[nodiscard]] sys::Fd connect_to_warden(const std::string& folder);

}  // namespace muster::agent
