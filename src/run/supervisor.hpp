// Supervises a run from the start of the engine to the end of the last process on the last host.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launch/plan.hpp"
#include "run/crew.hpp"
#include "run/doubted_output.hpp"
#include "run/floods.hpp"
#include "run/inquiry.hpp"
#include "run/keeper.hpp"
#include "run/output.hpp"
#include "run/rank_claims.hpp"
#include "run/record.hpp"
#include "sys/loop.hpp"
#include "why/verdict.hpp"

namespace muster::run {

struct Patience {
  double timeout_s = 0;  // for the whole run; 0: no limit
  double spent_s = 0;    // the part that earlier attempts used
  double lost_after_s = 15;
  double orphan_after_s = 60;
  // Seconds without output of any rank until the run is ended; 0: never.
  double stall_after_s = 0;
  // Seconds without output, communication and computation until muster says why; 0: never.
  double idle_after_s = 300;
  bool end_if_idle = false;  // also end the run then
  // The engine restarts failed ranks, so only it knows when the run is over.
  bool engine_restarts = false;
  int min_hosts = 0;              // the engine continues with this many hosts; 0: it needs all
  bool others_elsewhere = false;  // in a pod: the engine waits for ranks that muster does not see
  bool counts_hold = true;        // no host gets more ranks than the Layout gives it
};

class Supervisor {
 public:
  // `hosts` must be the crew's, in the same order.
  Supervisor(sys::Loop& loop, Crew& crew, std::vector<std::string> hosts, Patience patience,
             Record& record, Output& output);

  // Returns when nothing of the run is left on any reachable host; `record` has the results. Calls
  // `on_started` once the engine runs.
  void run(const launch::Plan& plan, const std::function<void()>& on_started);

  // Sets the folder in which inspections are stored. Without this call, they are not stored.
  void keep_in(std::string folder) { folder_ = std::move(folder); }
  // Sets the address at which the ranks find each other, for verdicts.
  void meet_at(std::string address, int port) {
    master_address_ = std::move(address);
    master_port_ = port;
  }

  // Inspects what the ranks are doing, and calls back with the result.
  using Then = std::function<void(const Result<why::Scene>& seen)>;
  void inspect(const agent::Inspection& what, Urgency urgency, const Then& then);

  // Tells the wardens that the run is over.
  void dismiss();

 private:
  using Clock = std::chrono::steady_clock;
  struct Host {
    std::string name;
    int session = 0;  // the session that the keeper knows
    bool done = false;
    bool lost = false;
    Clock::time_point tried = {};  // when muster last tried to rejoin
    int beats = 0;                 // number of beats received
    double clock_ahead_s = 0;      // by at least this much
    std::size_t unconfirmed = 0;   // bytes of output not yet confirmed to the host
    Clock::time_point spoke = {};  // when its last output arrived
    std::size_t starts = 0;        // rank starts that it reported
  };

  // Returns false if it could not be started; the run is then being ended.
  bool start_engine(const launch::Plan& plan);
  Result<void> start_command(const launch::Command& command, const launch::Plan& plan);
  void command_ended(const std::string& host, int code, int signal);
  void engine_ended();
  void a_rank_failed(double hold_s);
  [[nodiscard]] bool has_failure() const;
  void on_report(std::size_t index, const agent::Report& report);
  void take_output(std::size_t index, const agent::Piece& piece);
  void keep_output(std::size_t index, const agent::Piece& piece, const RankRecord& rank);
  void show_lines_soon();
  [[nodiscard]] bool may_print(const Host& host, const RankRecord& rank) const;
  void look_at_doubted();
  void compare_clock(Host& host, double clock_s);
  void take_waits(const Host& host, const std::vector<agent::Waited>& waited);
  void agent_failed(Host& host, const std::string& why);
  void finish(Host& host, bool Host::* flag);
  [[nodiscard]] RankRecord* find_rank(int number);
  void on_event(std::size_t index, const agent::Event& event);
  void rank_started(Host& host, const agent::RankStart& start);
  void rank_ended(const Host& host, const agent::RankEnd& end);
  [[nodiscard]] bool may_have_started(const Host& host, const agent::RankStart& start,
                                      const RankRecord& rank) const;
  void count_running(const std::string& host, int more);
  [[nodiscard]] bool is_later(const Host& host, const agent::RankStart& start,
                              const RankRecord& known) const;
  [[nodiscard]] bool nothing_to_wait_for() const;
  void end_if_stuck();
  void on_beat();
  void look_whether_stalled();
  [[nodiscard]] std::set<std::string> ask_hosts(const agent::Inspection& what);
  [[nodiscard]] bool is_idle(const why::Scene& scene) const;
  void end_if_stalled(const why::Scene& scene);
  void end_stalled(const std::string& headline);
  void take_glance(const why::Scene& scene);
  void look_at_failure(const agent::RankEnd& end);
  void look_at_time_out(int rank);
  void release_timed_out_unless_looked_at();
  void release_timed_out();
  std::string show_verdict(const why::Scene& scene, const std::string& occasion);
  void look_after(std::size_t index, bool is_alone);
  void reach_again(std::size_t index);
  void heed_signals();
  void interrupt(int signal);
  void end_at_once();
  void end_run(Reason reason);
  void end_engine();
  void leave_engine();
  void end_hosts(double grace_s);
  void leave_hosts();
  void signal_engine(int signal);
  [[nodiscard]] bool runs_ranks(const std::string& host) const;
  [[nodiscard]] bool alone() const;
  [[nodiscard]] double stands_still_for() const;
  void notice_absence();
  [[nodiscard]] bool was_away_too_long() const;
  [[nodiscard]] std::string absence_text() const;
  void lose(Host& host);
  void look_at_cut_off(const std::string& host);
  void check_over();
  void hold_connections();
  void hold_connections_soon();
  [[nodiscard]] double seconds_since(Clock::time_point then) const;
  std::shared_ptr<sys::Timer> after(double seconds, std::function<void()> then);

  sys::Loop& loop_;
  Crew& crew_;
  Patience patience_;
  Record& record_;
  DoubtedOutput doubted_;
  RankClaims claims_;
  Floods floods_;
  Output& output_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> numbers_;  // index of each host, by name
  std::size_t unfinished_ = 0;                  // hosts that are neither done nor lost
  std::unique_ptr<Keeper> keeper_;
  std::shared_ptr<sys::Timer> renewal_;  // renews the keeper
  // The plan's engine commands that are still running, by Command::host: the host whose ranks the
  // command starts, or "" if it starts the ranks on all hosts.
  std::map<std::string, std::shared_ptr<sys::Process>> engines_;
  // An engine process may outlive this object. Its callbacks then see that this pointer has
  // expired.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Clock::time_point alone_ = {};         // the last time that no host answered
  std::set<std::string> cut_off_hosts_;  // hosts whose engine outlives the ssh that started it
  std::vector<std::shared_ptr<sys::Timer>> timers_;
  std::shared_ptr<sys::Timer> showing_;  // shows lines that wait for equal ones
  std::shared_ptr<sys::Timer> stuck_;    // ends an engine that outlives its ranks
  // Until when hosts may still send output after the end of the run.
  Clock::time_point leave_by_ = {};
  double beat_s_ = 0;            // our last beat, as Loop::uptime
  Clock::time_point woke_ = {};  // when this machine last stood still, the end of that
  double away_s_ = 0;            // how long it stood still then
  Clock::time_point said_ = {};  // last output or start of any rank
  Inquiry inquiry_;
  std::string folder_;
  std::string master_address_;
  int master_port_ = 0;
  Clock::time_point glanced_ = {};     // the last look at a silent run
  Clock::time_point idle_since_ = {};  // the last look that saw a rank work
  bool idle_was_shown_ = false;
  bool looked_at_time_out_ = false;
  std::map<std::string, int> running_;  // running ranks, by host
  int running_ranks_ = 0;               // on all hosts
  int ranks_ended_ = 0;
  bool rank_failed_ = false;
  bool engine_over_ = false;
  bool term_kills_ranks_ = false;  // as in the Plan
  bool ending_ = false;            // muster is ending the run
  bool hosts_ending_ = false;      // the wardens were told to end the run
};

}  // namespace muster::run
