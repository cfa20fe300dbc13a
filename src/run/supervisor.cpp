#include "run/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace muster::run {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr double kStuckSeconds = 3;  // for the engine to end after the last rank
constexpr double kFailedRankEndsSeconds =
    5;                                    // for the engine to end the job after a rank has failed
constexpr double kEndByThemselves = 0.5;  // for ranks to end after their engine
constexpr double kGraceSeconds = 2;       // from SIGTERM to SIGKILL
constexpr double kGiveUpSeconds = 30;     // then muster gives up on a process that does not die
constexpr double kRestartTakes = 30;      // for torchrun to restart its ranks
constexpr double kReplayTakes = 1;        // for a host to repeat its earlier events
constexpr double kRenewKeeper = 0.5;      // after a new connection, in case others follow
constexpr double kSpeaks = 5;             // a host with output this recent is still busy
constexpr double kLookAtLines = 0.05;     // how often waiting lines are checked
constexpr int kBeatsToBelieve = 3;        // before a host's clock is believed to be slow
constexpr double kSpeaksAtMost = 600;     // for hosts to send their output after the end of the run
constexpr std::size_t kStartsPerRank = 1000;                   // restarts included
constexpr std::size_t kConfirmBytes = std::size_t{128} << 10;  // output per confirmation

constexpr const char* kRunEnds = "the run ended while it was being inspected";

}  // namespace

Supervisor::Supervisor(sys::Loop& loop, Crew& crew, std::vector<std::string> hosts,
                       Patience patience, Record& record, Output& output)
    : loop_(loop),
      crew_(crew),
      patience_(patience),
      record_(record),
      claims_(record.ranks, patience.counts_hold),
      output_(output),
      inquiry_(loop, [this](const agent::Inspection& what) { return ask_hosts(what); }) {
  for (std::string& host : hosts) {
    numbers_.emplace(host, hosts_.size());
    hosts_.push_back({.name = std::move(host)});
  }
  unfinished_ = hosts_.size();
}

double Supervisor::seconds_since(Clock::time_point then) const {
  return duration<double>(loop_.now() - then).count();
}

void Supervisor::run(const launch::Plan& plan, const std::function<void()>& on_started) {
  beat_s_ = loop_.uptime();
  said_ = idle_since_ = loop_.now();
  crew_.listen([this](std::size_t i, const agent::Report& report) { on_report(i, report); },
               [this](std::size_t i, const std::string& /*why*/) { reach_again(i); });
  // No host had to say anything since its survey, which may have been minutes ago.
  crew_.hear_all();
  crew_.send_all({.kind = agent::Order::Kind::kBegin, .orphan_after_s = patience_.orphan_after_s});
  heed_signals();
  hold_connections();
  if (start_engine(plan)) on_started();
  const milliseconds beat = duration_cast<milliseconds>(duration<double>(agent::kBeatEverySeconds));
  timers_.push_back(loop_.timer(beat, beat, [this] { on_beat(); }));
  if (patience_.timeout_s > 0) {
    timers_.push_back(after(std::max(patience_.timeout_s - patience_.spent_s, 0.0), [this] {
      record_.timeout_s = patience_.timeout_s;
      end_run(Reason::kTimeout);
    }));
  }
  loop_.run();
  // The run is over, so no other host can claim these ranks any more.
  for (const auto& [i, piece] : doubted_.take()) (void)output_.take(hosts_[i].name, piece);
  timers_.clear();
  stuck_ = nullptr;
  renewal_ = nullptr;
  showing_ = nullptr;
  loop_.drop_signals();  // from here on, signals have their usual effect
}

std::shared_ptr<sys::Timer> Supervisor::after(double seconds, std::function<void()> then) {
  return loop_.timer(duration_cast<milliseconds>(duration<double>(seconds)), {}, std::move(then));
}

bool Supervisor::start_engine(const launch::Plan& plan) {
  term_kills_ranks_ = plan.term_kills_ranks;
  for (const launch::Command& command : plan.commands) {
    if (const auto started = start_command(command, plan); !started) {
      record_.failure = to_text(started.error());
      end_run(Reason::kAgentFailed);
      return false;
    }
  }
  return true;
}

Result<void> Supervisor::start_command(const launch::Command& command, const launch::Plan& plan) {
  auto process = loop_.start(
      {.argv = command.argv,
       .env = plan.env,
       .input = command.input ? sys::Input::kInherit : sys::Input::kNone,
       // The engine gets its own session, so that Ctrl-C in the terminal reaches only muster. If
       // standard input is a terminal, rank 0 may read from it, so the engine stays in the
       // terminal's session.
       .own_session = ::isatty(STDIN_FILENO) == 0,
       .on_output =
           [this, alive = std::weak_ptr(alive_)](sys::Stream stream, std::string_view chunk) {
             if (!alive.expired()) output_.take_engine(stream, chunk);
           },
       .on_end =
           [this, host = command.host, alive = std::weak_ptr(alive_)](int code, int signal) {
             if (!alive.expired()) command_ended(host, code, signal);
           }});
  if (!process) return unexpected(process.error());
  keeper_->tell_engine((*process)->pid());
  engines_[command.host] = *std::move(process);
  return {};
}

// A keeper knows only the connections that exist when it starts, so it is replaced whenever a
// connection is renewed.
void Supervisor::hold_connections() {
  auto keeper = std::make_unique<Keeper>();
  // If this fails, the run continues without a keeper, which is only needed if muster gets SIGKILL.
  (void)keeper->start(loop_, record_.id, crew_.descriptors());
  for (std::size_t i = 0; i < hosts_.size(); ++i) hosts_[i].session = crew_.session_number(i);
  for (const auto& [host, process] : engines_) keeper->tell_engine(process->pid());
  if (keeper_) keeper_->dismiss();
  keeper_ = std::move(keeper);
}

// Waits a little: when the launcher's network comes back, all hosts get new connections at about
// the same time.
void Supervisor::hold_connections_soon() {
  if (renewal_) return;
  renewal_ = after(kRenewKeeper, [this] {
    renewal_ = nullptr;
    hold_connections();
  });
}

void Supervisor::on_report(std::size_t index, const agent::Report& report) {
  Host& host = hosts_[index];
  switch (report.kind) {
    case agent::Report::Kind::kReady:
      if (host.session != crew_.session_number(index)) hold_connections_soon();
      if (hosts_ending_) {
        crew_.send(index, {.kind = agent::Order::Kind::kEnd, .grace_s = kGraceSeconds});
      }
      return;
    case agent::Report::Kind::kEvent:
      return on_event(index, report.event);
    case agent::Report::Kind::kDone:
      finish(host, &Host::done);
      return check_over();
    case agent::Report::Kind::kBeat:
      compare_clock(host, report.clock_s);
      return take_waits(host, report.waited);
    case agent::Report::Kind::kFailed:
      return agent_failed(host, report.text);
    case agent::Report::Kind::kInspection:
      return inquiry_.take(host.name, report.inspection, report.view);
    case agent::Report::Kind::kKernelLog:
      record_.kernel_log[host.name] = report.kernel_log;
      return;
    case agent::Report::Kind::kOutput:
      return take_output(index, report.piece);
    case agent::Report::Kind::kFacts:
    case agent::Report::Kind::kListening:
    case agent::Report::Kind::kConnected:
      return;
  }
}

// While the run is being ended, a failed agent has nothing more to report. For example, a new agent
// may have found that the run is over.
void Supervisor::agent_failed(Host& host, const std::string& why) {
  if (hosts_ending_) {
    finish(host, &Host::done);
    return check_over();
  }
  record_.failure = was_away_too_long() ? absence_text() : host.name + ": " + why;
  end_run(Reason::kAgentFailed);
}

// Stops waiting for a host. `flag` is `done` or `lost`.
void Supervisor::finish(Host& host, bool Host::* flag) {
  if (!host.done && !host.lost) --unfinished_;
  host.*flag = true;
  inquiry_.leave_out(host.name);
}

void Supervisor::take_output(std::size_t index, const agent::Piece& piece) {
  const RankRecord* const rank = find_rank(piece.rank);
  if (rank == nullptr || !may_print(hosts_[index], *rank)) return;
  said_ = hosts_[index].spoke = loop_.now();
  keep_output(index, piece, *rank);
}

// Confirms the host's output from time to time, so that the host can discard it. A rank that gets
// too far ahead of the confirmations has to wait.
void Supervisor::keep_output(std::size_t index, const agent::Piece& piece, const RankRecord& rank) {
  Host& host = hosts_[index];
  if (!patience_.engine_restarts && !claims_.is_settled(rank)) {
    return doubted_.hold(index, piece, claims_.places(host.name));
  }
  if (!output_.take(host.name, piece)) return;
  show_lines_soon();
  host.unconfirmed += piece.bytes.size();
  if (host.unconfirmed < kConfirmBytes) return;
  host.unconfirmed = 0;
  crew_.send(index, {.kind = agent::Order::Kind::kTaken, .taken = output_.taken(host.name)});
}

// As long as lines wait for equal ones of other ranks, shows every few milliseconds those that have
// waited long enough.
void Supervisor::show_lines_soon() {
  if (showing_ || !output_.has_waiting()) return;
  showing_ = after(kLookAtLines, [this] {
    showing_ = nullptr;
    output_.show_due();
    show_lines_soon();
  });
}

bool Supervisor::may_print(const Host& host, const RankRecord& rank) const {
  if (patience_.engine_restarts) return claims_.may_have_printed(host.name, rank.rank);
  return claims_.may_print(host.name, rank);
}

// Called when a rank has started, which can settle on which host other ranks run. Holds output
// again if it is still doubtful.
void Supervisor::look_at_doubted() {
  for (const auto& [index, piece] : doubted_.take()) {
    const RankRecord& rank = *find_rank(piece.rank);
    if (may_print(hosts_[index], rank)) keep_output(index, piece, rank);
  }
}

// The least delayed beat is the most exact. A delay makes a clock look slow, so a slow clock is
// believed only after several beats.
void Supervisor::compare_clock(Host& host, double clock_s) {
  const double ahead = clock_s - loop_.unix_time();
  host.clock_ahead_s = host.beats == 0 ? ahead : std::max(host.clock_ahead_s, ahead);
  ++host.beats;
  if (host.clock_ahead_s > 0 || host.beats >= kBeatsToBelieve) {
    record_.clock_ahead_s[host.name] = host.clock_ahead_s;
  }
}

// Takes what a host says about its ranks whose output has to wait.
void Supervisor::take_waits(const Host& host, const std::vector<agent::Waited>& waited) {
  if (waited.empty()) return;
  std::map<int, std::uint64_t> bytes;
  for (const agent::Taken& one : output_.taken(host.name)) bytes[one.rank] = one.out + one.err;
  for (const agent::Waited& one : waited) {
    const RankRecord* const rank = find_rank(one.rank);
    if (rank == nullptr || !rank->start || rank->host != host.name) continue;
    floods_.take(host.name, one.rank, one.seconds, bytes[one.rank], loop_.now());
  }
}

// Null if the run has no such rank.
RankRecord* Supervisor::find_rank(int number) {
  if (record_.ranks.empty()) return nullptr;
  const std::int64_t at = std::int64_t{number} - record_.ranks.front().rank;
  if (at < 0 || at >= std::ssize(record_.ranks)) return nullptr;
  return &record_.ranks[static_cast<std::size_t>(at)];
}

void Supervisor::on_event(std::size_t index, const agent::Event& event) {
  if (event.start) rank_started(hosts_[index], *event.start);
  if (event.end) rank_ended(hosts_[index], *event.end);
}

void Supervisor::rank_started(Host& host, const agent::RankStart& start) {
  RankRecord* const rank = find_rank(start.rank);
  if (rank == nullptr) return;
  if (rank->start && rank->start->program == start.program && rank->host == host.name) return;
  if (!may_have_started(host, start, *rank)) return;
  const bool is_replay = rank->start && start.time_s < rank->start->time_s;
  if (!is_replay && ++host.starts > kStartsPerRank * record_.ranks.size()) {
    return agent_failed(host, "it reports more starts of ranks than the run can have");
  }
  said_ = loop_.now();
  claims_.started(host.name, start.rank);
  if (is_running(*rank)) count_running(rank->host, -1);
  if (rank->end) {  // torchrun restarted it, or another host wrongly claimed to have run it
    rank->end.reset();
    --ranks_ended_;
    if (rank_failed_ && !has_failure()) {
      rank_failed_ = false;
      output_.no_rank_failed();
    }
  }
  rank->host = host.name;
  rank->start = start;
  if (is_running(*rank)) count_running(rank->host, 1);
  for (const std::string& remark : start.remarks) output_.remark(host.name, start.rank, remark);
  show_lines_soon();
  look_at_doubted();
}

// Only an engine that restarts ranks moves them. A host that rejoins repeats old starts, so the
// later start counts. The number of ranks per host is no limit here: ranks from before a restart
// may still be ending when the next ones start.
bool Supervisor::may_have_started(const Host& host, const agent::RankStart& start,
                                  const RankRecord& rank) const {
  if (!patience_.engine_restarts) return claims_.may_start(host.name, rank);
  return rank.host == host.name || is_later(host, start, rank);
}

// Events may arrive twice. The end of a rank is ignored if another host has started it since.
void Supervisor::rank_ended(const Host& host, const agent::RankEnd& end) {
  RankRecord* const rank = find_rank(end.rank);
  if (rank == nullptr || rank->end || !claims_.may_end(host.name, *rank)) return;
  if (is_running(*rank)) count_running(rank->host, -1);
  rank->host = host.name;
  rank->end = end;
  ++ranks_ended_;
  if (engine_over_ || ending_) return;
  look_at_failure(end);
  if (nothing_to_wait_for()) {
    end_if_stuck();
  } else if (rank->end->status != 0 && !patience_.engine_restarts) {
    a_rank_failed(end.timed_out || end.cut_off ? duration<double>(agent::kEvidenceTakes).count()
                                               : 0);
  }
}

void Supervisor::count_running(const std::string& host, int more) {
  running_[host] += more;
  running_ranks_ += more;
  if (!cut_off_hosts_.contains(host) || runs_ranks(host)) return;
  const double wait_s = patience_.engine_restarts ? kRestartTakes : kReplayTakes;
  timers_.push_back(after(wait_s, [this, host] { look_at_cut_off(host); }));
}

// Whether a start is later than the known one, by this machine's clock.
bool Supervisor::is_later(const Host& host, const agent::RankStart& start,
                          const RankRecord& known) const {
  const auto here = [this](const std::string& name, double time_s) {
    const auto ahead = record_.clock_ahead_s.find(name);
    return ahead == record_.clock_ahead_s.end() ? time_s : time_s - ahead->second;
  };
  return !known.start || here(host.name, start.time_s) >= here(known.host, known.start->time_s);
}

// For a host whose engine process can no longer be observed: if its ranks have all ended, the
// engine counts as ended there, unless it starts them again.
void Supervisor::look_at_cut_off(const std::string& host) {
  if (runs_ranks(host) || cut_off_hosts_.erase(host) == 0) return;
  if (engines_.empty() && cut_off_hosts_.empty()) engine_ended();
}

// Whether the engine or a rank has failed. A failure that was reported earlier may be gone, because
// it was the false claim of a host that does not run the rank.
bool Supervisor::has_failure() const {
  if (record_.engine_code != 0 || record_.engine_signal != 0) return true;
  return std::any_of(record_.ranks.begin(), record_.ranks.end(),
                     [](const RankRecord& rank) { return rank.end && rank.end->status != 0; });
}

// `hold_s` is how long the failure may be hidden from the engine.
void Supervisor::a_rank_failed(double hold_s) {
  if (std::exchange(rank_failed_, true)) return;
  output_.a_rank_failed();
  timers_.push_back(after(kFailedRankEndsSeconds + hold_s, [this] {
    if (has_failure()) end_run(Reason::kRankFailed);
  }));
}

// Whether all ranks have ended and none of them will be restarted.
bool Supervisor::nothing_to_wait_for() const {
  if (patience_.others_elsewhere) return false;
  if (ranks_ended_ < static_cast<int>(record_.ranks.size())) return false;
  if (!patience_.engine_restarts) return true;
  return std::all_of(record_.ranks.begin(), record_.ranks.end(),
                     [](const RankRecord& rank) { return rank.end && rank.end->status == 0; });
}

// The engine does not count as stuck while output of the ranks still arrives.
void Supervisor::end_if_stuck() {
  stuck_ = after(kStuckSeconds, [this] {
    if (!nothing_to_wait_for()) return;
    if (seconds_since(said_) < kStuckSeconds) return end_if_stuck();
    end_run(Reason::kEngineStuck);
  });
}

void Supervisor::on_beat() {
  notice_absence();
  beat_s_ = loop_.uptime();
  const bool is_alone = alone();
  if (is_alone) alone_ = loop_.now();
  crew_.send_all({.kind = agent::Order::Kind::kBeat});
  for (std::size_t i = 0; i < hosts_.size(); ++i) look_after(i, is_alone);
  look_whether_stalled();
  output_.show_old();
  show_lines_soon();
  const std::string floods = floods_.news(loop_.now());
  if (!floods.empty()) output_.say("muster: " + floods + "\n");
}

void Supervisor::lose(Host& host) {
  finish(host, &Host::lost);
  record_.lost_hosts.push_back(host.name);
  const auto left = std::ssize(hosts_) - std::ssize(record_.lost_hosts);
  if (patience_.min_hosts > 0 && left >= patience_.min_hosts) {
    // This local process only serves the lost host and is useless now.
    if (const auto engine = engines_.find(host.name); engine != engines_.end()) {
      engine->second->kill(SIGKILL);
    }
    cut_off_hosts_.erase(host.name);
    if (engines_.empty() && cut_off_hosts_.empty() && !engine_over_) engine_ended();
  } else if (!engine_over_) {
    end_run(Reason::kHostLost);
  }
  check_over();
}

void Supervisor::command_ended(const std::string& host, int code, int signal) {
  if (engines_.erase(host) == 0) return;  // given up earlier
  const auto number = numbers_.find(host);
  const bool of_lost_host = number != numbers_.end() && hosts_[number->second].lost;
  // Only the ssh connection has ended. The ranks on the host are alive, and so is the engine there.
  constexpr int kSshFailed = 255;
  if (code == kSshFailed && !of_lost_host && !ending_ && runs_ranks(host)) {
    cut_off_hosts_.insert(host);
    record_.engine_unseen = true;
    return;
  }
  // The job may continue without this host. If a host shuts down in an orderly way, its command
  // ends long before the host counts as lost.
  const bool can_go_on =
      patience_.min_hosts > 0 && static_cast<int>(engines_.size()) >= patience_.min_hosts;
  const bool failed = (code != 0 || signal != 0) && !of_lost_host && !can_go_on;
  if (failed && record_.engine_code == 0 && record_.engine_signal == 0) {
    record_.engine_code = code;
    record_.engine_signal = signal;
  }
  if (engines_.empty() && cut_off_hosts_.empty()) return engine_ended();
  if (failed && !ending_) a_rank_failed(0);  // the other hosts may never notice it
}

// Whether ranks on this host have started and at least one still runs.
bool Supervisor::runs_ranks(const std::string& host) const {
  const auto found = running_.find(host);
  return found != running_.end() && found->second > 0;
}

void Supervisor::engine_ended() {
  engine_over_ = true;
  inquiry_.cancel(Urgency::kSilence, kRunEnds);
  if (!ending_) record_.reason = Reason::kEngineEnded;
  if (!ending_ && !nothing_to_wait_for() && was_away_too_long()) {
    record_.reason = Reason::kAgentFailed;
    record_.failure = absence_text();
  }
  if (!ending_ && !nothing_to_wait_for()) {
    // MPICH's engine ends while the rank that caused the failure is still in MPI_Abort. Wait for
    // the end of that rank.
    timers_.push_back(after(kEndByThemselves, [this] {
      end_hosts(kGraceSeconds);
      check_over();  // wardens that Slurm ended have already reported `done`
    }));
    return;
  }
  end_hosts(kGraceSeconds);
  check_over();
}

void Supervisor::end_run(Reason reason) {
  if (ending_ || engine_over_) return;
  ending_ = true;
  inquiry_.cancel(Urgency::kSilence, kRunEnds);
  record_.reason = reason;
  cut_off_hosts_.clear();  // the hosts' wardens end those engines
  end_engine();
  end_hosts(kGraceSeconds);
  if (engines_.empty()) engine_ended();
}

// If SIGTERM to the engine would kill the ranks at once, the engine gets it only after their grace
// period.
void Supervisor::end_engine() {
  const double begin_s = term_kills_ranks_ ? kGraceSeconds : 0;
  if (!term_kills_ranks_) signal_engine(SIGTERM);
  if (term_kills_ranks_) timers_.push_back(after(begin_s, [this] { signal_engine(SIGTERM); }));
  timers_.push_back(after(begin_s + kGraceSeconds, [this] { signal_engine(SIGKILL); }));
  timers_.push_back(after(begin_s + kGraceSeconds + kGiveUpSeconds, [this] { leave_engine(); }));
}

// Gives up on the engine: a process that waits for a dead file system cannot be killed.
void Supervisor::leave_engine() {
  if (engine_over_) return;
  for (const auto& [host, process] : engines_) {
    output_.say(
        fmt::format("muster: process {} on this machine does not end, although it was killed; it "
                    "may be waiting for a file system or a device\n",
                    process->pid()));
  }
  engines_.clear();
  engine_ended();
}

void Supervisor::signal_engine(int signal) {
  for (const auto& [host, process] : engines_) process->kill(signal);
}

void Supervisor::end_hosts(double grace_s) {
  if (hosts_ending_) return;
  hosts_ending_ = true;
  crew_.send_all({.kind = agent::Order::Kind::kEnd, .grace_s = grace_s});
  leave_by_ =
      loop_.now() + std::chrono::duration_cast<Clock::duration>(duration<double>(kSpeaksAtMost));
  timers_.push_back(after(grace_s + kGiveUpSeconds, [this] { leave_hosts(); }));
}

// Gives up on hosts that answer but do not report that everything there has ended.
void Supervisor::leave_hosts() {
  const bool is_busy = std::any_of(hosts_.begin(), hosts_.end(), [this](const Host& host) {
    return !host.done && !host.lost && seconds_since(host.spoke) < kSpeaks;
  });
  if (is_busy && loop_.now() < leave_by_) {
    return timers_.push_back(after(kSpeaks, [this] { leave_hosts(); }));
  }
  for (Host& host : hosts_) {
    if (host.done || host.lost) continue;
    output_.say(fmt::format(
        "muster: {} has not confirmed that the run ended there; look for leftover processes: "
        "muster exec -H {} -- ps -fu $USER\n",
        host.name, host.name));
    finish(host, &Host::done);
  }
  check_over();
}

void Supervisor::check_over() {
  // Wait a moment to find out what a rank was waiting for when it timed out.
  const bool is_looking = inquiry_.under_way() == Urgency::kTimeOut;
  if (engine_over_ && unfinished_ == 0 && !is_looking) loop_.stop();
}

void Supervisor::dismiss() {
  crew_.stop_rejoining();
  crew_.send_all({.kind = agent::Order::Kind::kBye});
  if (keeper_) keeper_->dismiss();
}

}  // namespace muster::run
