// The warden: stays on a host for the length of a run. It forwards the ranks' events and output to
// the launcher, and ends what is left of the run if the launcher says so or stays away for too
// long.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
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
  // `folder` is the run's folder. It must exist.
  Warden(std::string run_id, std::string folder, HostSystem& system);

  // Opens the sockets for the ranks and for a launcher that lost its connection. For `handout`, see
  // HandoutDesk::open.
  [[nodiscard]] Result<void> prepare(const std::optional<Handout>& handout);

  // What the caller must still clean up, for clean_up() in last_clean_up.hpp.
  struct Rest {
    std::vector<RankStart> starts;
    bool keep = false;  // whether to keep the run's folder
  };
  // Returns after `bye`, after a SIGTERM, or when the launcher has been away for `orphan_after_s`.
  [[nodiscard]] Rest serve(Channel launcher, double orphan_after_s);

 private:
  using Clock = HostSystem::Clock;

  void wait();
  void count_waits();
  void beat();
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
  // Readable after a SIGTERM, which comes when Slurm ends the job or the host shuts down.
  sys::Fd terminated_;
  HandoutDesk desk_;
  RankLinks links_;
  RankSpool spool_;
  std::vector<Event> events_;
  std::map<int, RankStart> starts_;  // by rank
  std::map<int, bool> ended_;        // by rank
  std::map<int, double> waited_s_;   // by rank: how long its output was held back
  std::set<int> held_back_;          // the ranks held back since the last beat
  Clock::time_point counted_;        // when waited_s_ was brought up to date
  Clock::time_point heard_;          // when the launcher was heard last
  Clock::time_point next_beat_;
  double orphan_after_s_ = 60;
  bool ending_ = false;
  // Whether the warden has told the ranks to end.
  bool told_to_end_ = false;
  int had_to_end_ = 0;
  Clock::time_point kill_at_;
  // Deadline for killed processes to disappear; nothing: none was killed.
  std::optional<Clock::time_point> gone_by_;
  // Set if `bye` came while the ranks were being ended; its value says whether to keep the folder.
  std::optional<bool> bye_;
  struct Inspecting {
    Inspection what;
    Inspector inspector;
    std::string said = {};  // what the inspector has written so far
    Clock::time_point give_up;
  };
  std::optional<Inspecting> inspecting_;
  struct Dismissed {
    pid_t pid = 0;
    Clock::time_point kill_at;
    bool killed = false;
  };
  std::vector<Dismissed> dismissed_;  // inspectors that were told to end and may still be alive
  bool rank_failed_ = false;
  std::vector<std::string> kernel_log_;  // lines that have been sent
  bool over_ = false;
  bool keep_ = false;  // whether to keep the run's folder
};

// A connection to the warden of the run with this folder; no descriptor if there is no warden.
[[nodiscard]] sys::Fd connect_to_warden(const std::string& folder);

}  // namespace muster::agent
