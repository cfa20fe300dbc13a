#include "agent/warden.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/run_files.hpp"
#include "agent/signals.hpp"
#include "base/json_fields.hpp"
#include "inspect/inspection_fields.hpp"
#include "sys/local_socket.hpp"

namespace muster::agent {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr const char* kLauncherSocket = "/socket";
// Most bytes that wait for the launcher.
constexpr std::size_t kLauncherQueue = std::size_t{256} << 10;
constexpr double kOwnGraceSeconds = 2;  // used if the launcher gave none
// Pause between looks while processes are being ended.
constexpr milliseconds kLookAgain{20};
constexpr milliseconds kKillTakes{1000};      // longest wait for a killed process to go
constexpr milliseconds kInspectorEnds{3000};  // longest wait for an inspector to end after SIGTERM
// Longest wait for the launcher to read the last reports.
constexpr milliseconds kLastWordsTake{5000};

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

}  // namespace

Warden::Warden(std::string run_id, std::string folder, HostSystem& system)
    : run_id_(std::move(run_id)),
      folder_(std::move(folder)),
      system_(system),
      memory_(system),
      counted_(system.now()),
      heard_(system.now()),
      next_beat_(system.now()) {
  system_.watch_kernel();
}

Result<void> Warden::prepare(const std::optional<Handout>& handout) {
  MUSTER_CHECK(desk_.open(folder_, handout));
  MUSTER_CHECK(links_.listen(folder_));
  MUSTER_CHECK(sys::make_private_folder(folder_ + kRecorders));
  sigset_t term;
  (void)::sigemptyset(&term);
  (void)::sigaddset(&term, SIGTERM);
  (void)::sigprocmask(SIG_BLOCK, &term, nullptr);
  terminated_ = sys::Fd(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));
  MUSTER_TRY(listener_, sys::listen_locally(folder_ + kLauncherSocket));
  return {};
}

Warden::Rest Warden::serve(Channel launcher, double orphan_after_s) {
  launcher_ = std::move(launcher);
  be_patient(orphan_after_s);
  begin();
  while (!over_) {
    wait();
    count_waits();
    admit();
    desk_.serve();
    launcher_.receive();
    for (auto message = launcher_.next(); message && !over_; message = launcher_.next()) {
      heard_ = system_.now();
      if (const auto order = parse_order(message->line)) obey(*order);
    }
    if (over_) break;
    if (next_signal(terminated_.get())) {
      start_ending(kOwnGraceSeconds);
      if (!bye_) bye_ = true;
    }
    pass_on_news(RankLinks::Reads::kWhatFits);
    send_output(false);
    if (system_.now() >= next_beat_) {
      beat();
    }
    if (!ending_ && system_.now() - heard_ > ms(orphan_after_s_)) {
      launcher_.close();
      start_ending(kOwnGraceSeconds);
    }
    if (inspecting_) go_on_inspecting();
    if (ending_) go_on_ending();
  }
  dismiss_inspector();
  return {.starts = values(starts_), .keep = keep_};
}

void Warden::be_patient(double orphan_after_s) {
  orphan_after_s_ = orphan_after_s;
  // Ranks that outlive this process read this file.
  (void)sys::write_file(folder_ + "/" + kOrphanAfterFile, fmt::format("{}\n", orphan_after_s),
                        0600);
}

void Warden::wait() {
  std::vector<pollfd> watched = {
      {listener_.get(), POLLIN, 0}, {terminated_.get(), POLLIN, 0}, desk_.watched()};
  links_.watch(watched, spool_);
  if (inspecting_) watched.push_back({inspecting_->inspector.out.get(), POLLIN, 0});
  if (launcher_.open()) {
    watched.push_back({launcher_.in(), POLLIN, 0});
    if (launcher_.has_unsent()) watched.push_back({launcher_.out(), POLLOUT, 0});
  }
  const auto next = inspecting_ ? std::min(next_beat_, inspecting_->give_up) : next_beat_;
  const milliseconds left = duration_cast<milliseconds>(next - system_.now());
  const milliseconds time = ending_ ? kLookAgain : std::max(left, milliseconds(0));
  system_.wait(watched, time + milliseconds(1));
  launcher_.flush();
}

// Must be called before the spool changes, because it counts the time since the last call for the
// ranks that the spool has no room for. The result may be too large by the time between two beats.
void Warden::count_waits() {
  const auto now = system_.now();
  for (const int rank : links_.held_back(spool_)) {
    waited_s_[rank] += duration<double>(now - counted_).count();
    held_back_.insert(rank);
  }
  counted_ = now;
}

void Warden::beat() {
  Report beat{.kind = Report::Kind::kBeat, .clock_s = system_.unix_time()};
  for (const int rank : std::exchange(held_back_, {})) {
    beat.waited.push_back({.rank = rank, .seconds = waited_s_[rank]});
  }
  launcher_.send(to_line(beat));
  next_beat_ = system_.now() + ms(kBeatEverySeconds);
  memory_.look();
  look_at_dismissed();
}

// Accepts a new connection of the launcher, which replaces the old one.
void Warden::admit() {
  const int number = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  if (number < 0) return;
  heard_ = system_.now();
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
      bye_ = order.keep;  // leave when the ranks have ended
      return;
    case Order::Kind::kInspect:
      return begin_inspection(order.inspection);
    case Order::Kind::kSeen:
      return void(sys::write_file(folder_ + "/" + kSeenMark, "", 0600));
    case Order::Kind::kTaken:
      return spool_.forget(order.taken);
    case Order::Kind::kHello:
    case Order::Kind::kPlace:
    case Order::Kind::kBeat:
    case Order::Kind::kListen:
    case Order::Kind::kConnect:
    case Order::Kind::kClose:
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
      ended_[event.start->rank] = false;  // torchrun may have started it again
      waited_s_.erase(event.start->rank);
    }
    if (event.end) {
      ended_[event.end->rank] = true;
      event.end->waited_s = waited_s_[event.end->rank];
      const int status = event.end->status;
      event.end->by_engine = event.end->by_engine || (told_to_end_ && died_of(status, SIGTERM)) ||
                             (told_to_end_ && died_of(status, SIGKILL));
      rank_failed_ = rank_failed_ || status != 0;
      const bool failed_by_itself = status != 0 && !event.end->by_engine;
      event.end->memory_ran_out = failed_by_itself && memory_.explains_a_failure();
      send_output(true);  // so that its output precedes its end
    }
    report(event);
  }
  for (const int rank : gone) note_gone(rank);
}

// A rank that disconnected without reporting its end was killed together with its program.
void Warden::note_gone(int rank) {
  if (std::exchange(ended_[rank], true)) return;
  rank_failed_ = true;
  send_output(true);  // so that its output precedes its end
  report({.start = std::nullopt,
          .end = RankEnd{.rank = rank,
                         .status = SIGKILL,
                         .failure = "it was killed together with muster's rank process",
                         .time_s = system_.unix_time(),
                         .waited_s = waited_s_[rank],
                         .by_engine = told_to_end_}});
}

// Sends as much as the launcher takes now, or everything if `all` is set.
void Warden::send_output(bool all) {
  while (launcher_.open() && (all || launcher_.unsent() < kLauncherQueue)) {
    auto piece = spool_.next();
    if (!piece) return;
    launcher_.send(to_line(Report{.kind = Report::Kind::kOutput, .piece = *std::move(piece)}));
  }
}

// Sends nothing after a successful run, which needs no explanation.
void Warden::send_kernel_log() {
  if (!rank_failed_ && had_to_end_ == 0) return;
  // Keeps all lines and sends them again, because an earlier connection may have lost them.
  for (std::string& line : system_.kernel_lines()) kernel_log_.push_back(std::move(line));
  kernel_log_.resize(std::min(kernel_log_.size(), facts::kMostKernelLines));
  if (kernel_log_.empty()) return;
  launcher_.send(to_line(Report{.kind = Report::Kind::kKernelLog, .kernel_log = kernel_log_}));
}

// Ends an inspection that is still running, because a launcher that asks again no longer waits for
// its answer.
void Warden::begin_inspection(const Inspection& what) {
  dismiss_inspector();
  look_at_dismissed();
  const bool hangs = std::any_of(dismissed_.begin(), dismissed_.end(),
                                 [](const Dismissed& one) { return one.killed; });
  Inspector inspector = hangs ? Inspector{} : system_.start_inspector(run_id_, what);
  if (inspector.pid == 0) {
    const std::string why = hangs ? "an earlier inspection of this host still hangs in the kernel"
                                  : "the inspection of this host could not be started";
    return answer_inspection(what.number, {.time_s = system_.unix_time(), .not_seen = {why}});
  }
  inspecting_ = {.what = what,
                 .inspector = std::move(inspector),
                 .give_up = system_.now() + what.takes_at_most()};
}

void Warden::go_on_inspecting() {
  std::string& said = inspecting_->said;
  char bytes[65536];
  ssize_t count = 0;
  bool is_whole = false;
  while (!is_whole && said.size() <= kMaxLine / 2 &&
         (count = ::read(inspecting_->inspector.out.get(), bytes, sizeof bytes)) > 0) {
    said.append(bytes, static_cast<std::size_t>(count));
    is_whole = said.back() == '\n';
  }
  const bool ended = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
  const bool too_long = said.size() > kMaxLine / 2;
  if (!is_whole && !ended && !too_long && system_.now() < inspecting_->give_up) return;
  auto view = parse_fields<inspect::HostView>(said, "the inspection is unreadable");
  const std::string why = is_whole || ended || too_long
                              ? "the inspection of this host failed"
                              : "the inspection of this host did not end in time";
  if (!view) view = inspect::HostView{.time_s = system_.unix_time(), .not_seen = {why}};
  answer_inspection(inspecting_->what.number, *view);
  dismiss_inspector();
}

void Warden::answer_inspection(int number, const inspect::HostView& view) {
  launcher_.send(
      to_line(Report{.kind = Report::Kind::kInspection, .inspection = number, .view = view}));
}

// Tells the inspector to end. The inspector may need a moment to resume the ranks that its tools
// stopped, so this does not wait for it.
void Warden::dismiss_inspector() {
  if (!inspecting_) return;
  const pid_t pid = inspecting_->inspector.pid;
  inspecting_.reset();
  system_.signal_inspector(pid, SIGTERM);
  dismissed_.push_back({.pid = pid, .kill_at = system_.now() + kInspectorEnds});
}

void Warden::look_at_dismissed() {
  std::erase_if(dismissed_,
                [this](const Dismissed& one) { return system_.inspector_ended(one.pid); });
  for (Dismissed& one : dismissed_) {
    if (one.killed || system_.now() < one.kill_at) continue;
    system_.signal_inspector(one.pid, SIGKILL);
    one.killed = true;
  }
}

void Warden::start_ending(double grace_s) {
  const auto kill_at = system_.now() + ms(grace_s);
  // A second order to end can only shorten the grace period.
  if (ending_) return void(kill_at_ = std::min(kill_at_, kill_at));
  ending_ = true;
  // Ranks that start from now on find this mark and end.
  (void)sys::write_file(folder_ + "/" + kOverMark, "", 0600);
  pass_on_news(RankLinks::Reads::kAll);
  told_to_end_ = true;
  kill_at_ = kill_at;
  for (const auto& [rank, start] : starts_) {
    if (!system_.is_alive(start.program)) continue;
    ++had_to_end_;
    system_.send_signal_to_group(start.program, SIGTERM);
    system_.send_signal_to_group(start.program, SIGCONT);  // a stopped program cannot end
  }
}

bool Warden::is_shim(const ProcessId& process) const {
  return std::any_of(starts_.begin(), starts_.end(),
                     [&](const auto& entry) { return entry.second.shim == process; });
}

void Warden::go_on_ending() {
  pass_on_news(RankLinks::Reads::kWhatFits);
  const auto left = system_.rank_processes(run_id_, values(starts_));
  if (!left.empty()) {
    if (system_.now() < kill_at_) return;
    if (!gone_by_) {
      gone_by_ = system_.now() + kKillTakes;
      had_to_end_ = std::max(had_to_end_, static_cast<int>(left.size()));
    }
    // A rank process is left alone at first, because it reports its program's end and then exits by
    // itself.
    const bool is_last_look = system_.now() >= *gone_by_;
    for (const ProcessId& process : left) {
      if (is_last_look || !is_shim(process)) system_.send_signal(process, SIGKILL);
    }
    if (!is_last_look) return;
  }
  pass_on_news(RankLinks::Reads::kAll);
  ending_ = false;
  // A launcher whose connection broke will reconnect for the remaining reports.
  const bool orphan = !launcher_.open() && system_.now() - heard_ > ms(orphan_after_s_);
  if (!launcher_.open() && !orphan && !bye_) return;
  send_output(true);
  send_kernel_log();
  launcher_.send(to_line(Report{.kind = Report::Kind::kDone, .ended = had_to_end_}));
  if (orphan || bye_) leave(bye_.value_or(true));
}

// Called when the launcher does not wait for anything more.
void Warden::leave(bool keep) {
  over_ = true;
  keep_ = keep;
  const auto give_up = system_.now() + kLastWordsTake;
  while (launcher_.has_unsent() && system_.now() < give_up) {
    pollfd writable = {launcher_.out(), POLLOUT, 0};
    system_.wait({&writable, 1}, kLookAgain);
    launcher_.flush();
  }
  launcher_.close();
}

sys::Fd connect_to_warden(const std::string& folder) {
  return sys::connect_locally(folder + kLauncherSocket);
}

}  // namespace muster::agent
