// Watches a run from the start of the engine to the end of the last process on the last host.
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
#include "run/inquiry.hpp"
#include "run/keeper.hpp"
#include "run/output.hpp"
#include "run/rank_claims.hpp"
#include "run/record.hpp"
#include "sys/loop.hpp"
#include "why/verdict.hpp"

namespace muster::run {

struct Patience {
  double timeout_s = 0;  // of the whole run; 0: none
  double spent_s = 0;    // of that, by earlier attempts
  double lost_after_s = 15;
  double orphan_after_s = 60;
  double stall_after_s = 0;       // without a word of any rank: end the run; 0: never
  double idle_after_s = 300;      // without a word, communication or computing: say why; 0: never
  bool end_if_idle = false;       // and end the run then
  bool engine_restarts = false;   // ranks that failed: then only the engine knows when it is over
  int min_hosts = 0;              // the engine goes on with so many; 0: it needs all
  bool others_elsewhere = false;  // in a pod: the engine waits for ranks that we do not see
  bool counts_hold = true;        // no host gets more ranks than the Layout gives it
};

class Supervisor {
 public:
  // `hosts` are the crew's, in its order.
  Supervisor(sys::Loop& loop, Crew& crew, std::vector<std::string> hosts, Patience patience,
             Record& record, Output& output);

  // Returns when nothing of the run is left on any host that can be reached; `record` tells the
  // rest. `on_started` is called once the engine runs.
  void run(const launch::Plan& plan, const std::function<void()>& on_started);

  // Where inspections are kept; until then they are not.
  void keep_in(std::string folder) { folder_ = std::move(folder); }
  // Where the ranks meet, for verdicts.
  void meet_at(std::string address, int port) {
    master_address_ = std::move(address);
    master_port_ = port;
  }

  // Looks at what the ranks are doing, and calls back with what was seen.
  using Then = std::function<void(const Result<why::Scene>& seen)>;
  void inspect(const agent::Inspection& what, Urgency urgency, const Then& then);

  // Tells the wardens that the run is over.
  void dismiss();

 private:
  using Clock = std::chrono::steady_clock;
  struct Host {
    std::string name;
    int session = 0;  // that the keeper knows
    bool done = false;
    bool lost = false;
    Clock::time_point tried = {};  // to rejoin
    int beats = 0;                 // that have come
    double clock_ahead_s = 0;      // at least
    std::size_t unconfirmed = 0;   // bytes of output not yet confirmed to it
    Clock::time_point spoke = {};  // when its last output arrived
    std::size_t starts = 0;        // of ranks that it reported
  };

  // False if it could not be started; the run is then being ended.
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
  Output& output_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> numbers_;  // of the hosts, by name
  std::size_t unfinished_ = 0;                  // hosts that are neither done nor lost
  std::unique_ptr<Keeper> keeper_;
  std::shared_ptr<sys::Timer> renewal_;  // of the keeper
  // The commands of the plan that run, by the only host that they start ranks on; empty: all.
  std::map<std::string, std::shared_ptr<sys::Process>> engines_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // an engine may outlive us
  Clock::time_point alone_ = {};         // the last time that no host was heard
  std::set<std::string> cut_off_hosts_;  // whose engine still runs although its ssh ended
  std::vector<std::shared_ptr<sys::Timer>> timers_;
  std::shared_ptr<sys::Timer> showing_;  // of lines that wait for equal ones
  std::shared_ptr<sys::Timer> stuck_;    // ends an engine that outlives its ranks
  Clock::time_point leave_by_ = {};      // hosts that still speak after the end of the run
  Clock::time_point beat_ = {};          // ours, last
  Clock::time_point said_ = {};          // last output or start of any rank
  Inquiry inquiry_;
  std::string folder_;
  std::string master_address_;
  int master_port_ = 0;
  Clock::time_point glanced_ = {};     // at a silent run, last
  Clock::time_point idle_since_ = {};  // the last glance that saw somebody work
  bool idle_was_shown_ = false;
  bool looked_at_time_out_ = false;
  std::map<std::string, int> running_;  // ranks that run, by host
  int running_ranks_ = 0;               // on all hosts
  int ranks_ended_ = 0;
  bool rank_failed_ = false;
  bool engine_over_ = false;
  bool term_kills_ranks_ = false;  // as the Plan's
  bool ending_ = false;            // muster ends the run
  bool hosts_ending_ = false;      // the wardens were told
};

}  // namespace muster::run
