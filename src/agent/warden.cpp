#include "agent/warden.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/local_socket.hpp"
#include "agent/processes.hpp"
#include "agent/run_files.hpp"
#include "agent/signals.hpp"
#include "sys/clock.hpp"

namespace muster::agent {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr const char* kSocket = "/socket";
constexpr std::size_t kQueue = std::size_t{256} << 10;  // bytes waiting for the launcher
constexpr double kOwnGraceSeconds = 2;                  // if the launcher named none
constexpr milliseconds kLookAgain{20};                  // while processes are being ended
constexpr milliseconds kKillTakes{1000};                // at most, for a killed process to go away
constexpr milliseconds kDaemonLeaves{1000};             // by itself, after its last rank
constexpr milliseconds kDaemonComes{3000};              // at most, after its engine ended
constexpr milliseconds kLookForDaemons{100};
constexpr milliseconds kLastWordsTake{5000};  // at most, for the launcher to read them

milliseconds ms(double seconds) {
  return duration_cast<milliseconds>(duration<double>(seconds));
}

std::vector<RankStart> values(const std::map<int, RankStart>& starts) {
  std::vector<RankStart> result;
  for (const auto& [rank, start] : starts) result.push_back(start);
  return result;
}

bool died_of(int status, int signal) {
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

void pause_for(milliseconds time) {
  (void)::poll(nullptr, 0, static_cast<int>(time.count()));
}

// Until none is left; a look may miss one that another was starting.
void kill_rank_processes(const std::string& run_id, const std::vector<RankStart>& starts) {
  const auto give_up = std::chrono::steady_clock::now() + kKillTakes;
  while (true) {
    const auto left = rank_processes(run_id, starts);
    for (const ProcessId& process : left) send_signal(process, SIGKILL);
    if (left.empty() || std::chrono::steady_clock::now() > give_up) return;
    pause_for(kLookAgain);
  }
}

// The engine's daemons leave by themselves when the job is over; those that do not are ended.
// If no rank has started, a daemon may still be starting although its engine has ended.
void end_daemons(const std::string& run_id, const std::vector<RankStart>& starts) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + kDaemonLeaves;
  const auto last_comes = Clock::now() + (starts.empty() ? kDaemonComes : milliseconds(0));
  while (true) {
    const auto daemons = engine_daemons(run_id, starts);
    if (daemons.empty() && Clock::now() >= last_comes) break;
    if (Clock::now() >= give_up) {
      for (const ProcessId& daemon : daemons) send_signal(daemon, SIGKILL);
    }
    if (Clock::now() >= std::max(give_up, last_comes) + kKillTakes) break;
    pause_for(starts.empty() ? kLookForDaemons : kLookAgain);
  }
  kill_rank_processes(run_id, starts);
}

}  // namespace

Warden::Warden(std::string run_id, std::string folder)
    : run_id_(std::move(run_id)),
      folder_(std::move(folder)),
      heard_(Clock::now()),
      next_beat_(Clock::now()) {}

Result<void> Warden::prepare() {
  MUSTER_CHECK(links_.listen(folder_));
  sigset_t term;
  (void)::sigemptyset(&term);
  (void)::sigaddset(&term, SIGTERM);
  (void)::sigprocmask(SIG_BLOCK, &term, nullptr);
  terminated_ = sys::Fd(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));
  MUSTER_TRY(listener_, listen_locally(folder_ + kSocket));
  return {};
}

void Warden::serve(Channel launcher, double orphan_after_s) {
  launcher_ = std::move(launcher);
  be_patient(orphan_after_s);
  begin();
  while (!over_) {
    wait();
    admit();
    launcher_.receive();
    while (auto message = launcher_.next()) {
      heard_ = Clock::now();
      if (const auto order = parse_order(message->line)) obey(*order);
    }
    if (over_) return;
    if (next_signal(terminated_.get())) {
      start_ending(kOwnGraceSeconds);
      if (!bye_) bye_ = true;
    }
    pass_on_news(RankLinks::Reads::kWhatFits);
    send_output(false);
    if (Clock::now() >= next_beat_) {
      launcher_.send(to_line(Report{.kind = Report::Kind::kBeat, .clock_s = sys::unix_time()}));
      next_beat_ = Clock::now() + ms(kBeatEverySeconds);
    }
    if (!ending_ && Clock::now() - heard_ > ms(orphan_after_s_)) {
      launcher_.close();
      start_ending(kOwnGraceSeconds);
    }
    if (ending_) go_on_ending();
  }
}

void Warden::be_patient(double orphan_after_s) {
  orphan_after_s_ = orphan_after_s;
  // For ranks that outlive us.
  (void)sys::write_file(folder_ + "/" + kOrphanAfterFile, fmt::format("{}\n", orphan_after_s),
                        0600);
}

void Warden::wait() {
  std::vector<pollfd> watched = {{listener_.get(), POLLIN, 0}, {terminated_.get(), POLLIN, 0}};
  links_.watch(watched, spool_);
  if (launcher_.open()) {
    watched.push_back({launcher_.in(), POLLIN, 0});
    if (launcher_.has_unsent()) watched.push_back({launcher_.out(), POLLOUT, 0});
  }
  const milliseconds beat = duration_cast<milliseconds>(next_beat_ - Clock::now());
  const milliseconds time = ending_ ? kLookAgain : std::max(beat, milliseconds(0));
  (void)::poll(watched.data(), watched.size(), static_cast<int>(time.count()) + 1);
  launcher_.flush();
}

// A new connection of the launcher takes the place of the old one.
void Warden::admit() {
  const int number = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  if (number < 0) return;
  heard_ = Clock::now();
  launcher_ = Channel(sys::Fd(number));
  spool_.rewind();
}

void Warden::obey(const Order& order) {
  switch (order.kind) {
    case Order::Kind::kBegin:
      be_patient(order.orphan_after_s);
      spool_.forget(order.taken);
      return begin();
    case Order::Kind::kEnd:
      return start_ending(order.grace_s);
    case Order::Kind::kBye:
      if (!ending_) return leave(order.keep);
      bye_ = order.keep;  // once the ranks have ended
      return;
    case Order::Kind::kLook:
      launcher_.send(to_line(Report{.kind = Report::Kind::kLooks, .looks = look_at(starts_)}));
      return;
    case Order::Kind::kTaken:
      return spool_.forget(order.taken);
    case Order::Kind::kHello:
    case Order::Kind::kPlace:
    case Order::Kind::kBeat:
      return;
  }
}

void Warden::begin() {
  launcher_.send(to_line(Report{.kind = Report::Kind::kReady}));
  for (const Event& event : events_) {
    launcher_.send(to_line(Report{.kind = Report::Kind::kEvent, .event = event}));
  }
}

void Warden::report(const Event& event) {
  events_.push_back(event);
  launcher_.send(to_line(Report{.kind = Report::Kind::kEvent, .event = event}));
}

void Warden::pass_on_news(RankLinks::Reads how) {
  std::vector<int> gone;
  for (Event& event : links_.receive(how, spool_, gone)) {
    if (event.start) {
      starts_[event.start->rank] = *event.start;
      ended_[event.start->rank] = false;  // torchrun may start it again
    }
    if (event.end) {
      ended_[event.end->rank] = true;
      const int status = event.end->status;
      event.end->by_engine = event.end->by_engine || (told_to_end_ && died_of(status, SIGTERM)) ||
                             (told_to_end_ && died_of(status, SIGKILL));
      send_output(true);  // its last output precedes its end
    }
    report(event);
  }
  for (const int rank : gone) note_gone(rank);
}

// A rank that disconnected without reporting its end was killed, and its program with it.
void Warden::note_gone(int rank) {
  if (std::exchange(ended_[rank], true)) return;
  send_output(true);  // its last output precedes its end
  report({.start = std::nullopt,
          .end = RankEnd{.rank = rank,
                         .status = SIGKILL,
                         .failure = "it was killed together with muster's rank process",
                         .time_s = sys::unix_time(),
                         .by_engine = told_to_end_}});
}

// Sends as much as the launcher takes now, or (`all`) everything that is left.
void Warden::send_output(bool all) {
  while (launcher_.open() && (all || launcher_.unsent() < kQueue)) {
    auto piece = spool_.next();
    if (!piece) return;
    launcher_.send(to_line(Report{.kind = Report::Kind::kOutput, .piece = *std::move(piece)}));
  }
}

void Warden::start_ending(double grace_s) {
  if (ending_) return;
  ending_ = true;
  (void)sys::write_file(folder_ + "/" + kOverMark, "", 0600);  // for ranks that start from now on
  pass_on_news(RankLinks::Reads::kAll);
  told_to_end_ = true;
  kill_at_ = Clock::now() + ms(grace_s);
  for (const auto& [rank, start] : starts_) {
    if (!is_alive(start.program)) continue;
    ++had_to_end_;
    (void)::kill(-start.program.pid, SIGTERM);
    (void)::kill(-start.program.pid, SIGCONT);  // a stopped one cannot end
  }
}

bool Warden::is_shim(const ProcessId& process) const {
  return std::any_of(starts_.begin(), starts_.end(),
                     [&](const auto& entry) { return entry.second.shim == process; });
}

void Warden::go_on_ending() {
  pass_on_news(RankLinks::Reads::kWhatFits);
  const auto left = rank_processes(run_id_, values(starts_));
  if (!left.empty()) {
    if (Clock::now() < kill_at_) return;
    if (!gone_by_) {
      gone_by_ = Clock::now() + kKillTakes;
      had_to_end_ = std::max(had_to_end_, static_cast<int>(left.size()));
    }
    // A shim reports how its program ended, then exits by itself.
    const bool is_last_look = Clock::now() >= *gone_by_;
    for (const ProcessId& process : left) {
      if (is_last_look || !is_shim(process)) send_signal(process, SIGKILL);
    }
    if (!is_last_look) return;
  }
  pass_on_news(RankLinks::Reads::kAll);
  ending_ = false;
  // A launcher whose connection broke will reconnect for the rest.
  const bool orphan = !launcher_.open() && Clock::now() - heard_ > ms(orphan_after_s_);
  if (!launcher_.open() && !orphan && !bye_) return;
  send_output(true);
  launcher_.send(to_line(Report{.kind = Report::Kind::kDone, .ended = had_to_end_}));
  if (orphan || bye_) leave(bye_.value_or(true));
}

// The launcher waits for nothing any more; what is left is done by a child of ours, so that this
// session ends at once. Not in a Slurm step: it would be killed with us.
void Warden::leave(bool keep) {
  over_ = true;
  const auto give_up = Clock::now() + kLastWordsTake;
  while (launcher_.has_unsent() && Clock::now() < give_up) {
    pollfd writable = {launcher_.out(), POLLOUT, 0};
    (void)::poll(&writable, 1, static_cast<int>(kLookAgain.count()));
    launcher_.flush();
  }
  const bool in_step = std::getenv("SLURM_STEP_ID") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  if (!in_step && ::fork() != 0) return;
  launcher_.close();
  for (const int descriptor : {0, 1, 2}) (void)::close(descriptor);
  end_daemons(run_id_, values(starts_));
  if (!keep) {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  } else {
    (void)::unlink((folder_ + "/socket").c_str());
  }
  if (!in_step) ::_exit(0);
}

sys::Fd connect_to_warden(const std::string& folder) {
  return connect_locally(folder + kSocket);
}

}  // namespace muster::agent
