#include "cli/follow.hpp"

#include <array>
#include <csignal>

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "run/folder.hpp"
#include "run/log_folds.hpp"
#include "run/log_limit.hpp"
#include "run/record.hpp"
#include "sys/file.hpp"
#include "sys/ignored_signal.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr int kLookAtLeast = 500;  // ms; changes on another machine give no notification
// In ms; used while lines wait to be joined with equal ones.
constexpr int kLookAtLines = 50;

volatile std::sig_atomic_t interrupt_came = 0;

bool goes_on() {
  return interrupt_came == 0 && sys::output_is_taken();
}

// Shows the output of one attempt.
class LogScreen {
 public:
  LogScreen(const std::string& folder, const Watching& how)
      : log_(folder, how.since_s),
        filter_(how.wish),
        apart_(how.streams_apart),
        folds_(how.wish.labels && ::isatty(STDOUT_FILENO) == 1 &&
               (!apart_ || ::isatty(STDERR_FILENO) == 1)) {}

  void show_new() {
    log_.read_new(take_);
    folded_.put_due();
    tell_dropped();
  }
  void show_rest() {
    log_.read_rest(take_);
    write(sys::Stream::kOut, filter_.rest());
    folded_.put_all();
    tell_dropped();
  }
  void leave() { folded_.put_all(); }
  [[nodiscard]] bool has_waiting() const { return !folded_.empty(); }

 private:
  // Says how much of the output is missing, again whenever more is.
  void tell_dropped() {
    if (log_.dropped() == told_) return;
    told_ = log_.dropped();
    sys::print_err("muster: {}\n", run::dropped_text(told_, "this run's output"));
  }
  void write(sys::Stream stream, std::string_view text) {
    folds_ ? folded_.take(stream, text) : put(stream, text);
  }
  void put(sys::Stream stream, std::string_view text) const {
    stream == sys::Stream::kErr&& apart_ ? sys::write_err(text) : sys::write_out(text);
  }

  run::StoredLog log_;
  run::LogFilter filter_;
  bool apart_;
  bool folds_;
  std::uint64_t told_ = 0;
  run::LogFolds folded_{[this](sys::Stream stream, std::string_view text) { put(stream, text); },
                        sys::shows_colours(STDOUT_FILENO)};
  run::StoredLog::Take take_ = [this](sys::Stream stream, std::string_view bytes) {
    write(stream, filter_.take(stream, bytes));
    return interrupt_came == 0 && sys::output_error() == 0;
  };
};

// Waits for changes of files in the folder.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder)
      : notices_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    (void)::inotify_add_watch(notices_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  }
  void wait(int at_most) const {
    pollfd news[] = {{notices_.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    (void)::poll(news, std::size(news), at_most);
    std::array<char, 4096> bytes{};
    while (::read(notices_.get(), bytes.data(), bytes.size()) > 0) {
    }
  }

 private:
  sys::Fd notices_;
};

void follow_attempt(const std::string& folder, const Watching& how) {
  const FolderWatch watch(folder);
  LogScreen screen(folder, how);
  while (true) {
    const bool over = sys::exists(folder + "/record.json") || !run::may_be_running(folder);
    screen.show_new();
    if (over) return screen.show_rest();
    if (!goes_on()) return screen.leave();
    watch.wait(screen.has_waiting() ? kLookAtLines : kLookAtLeast);
  }
}

// Waits for the next attempt and returns its folder once it runs. Empty if there will be none.
std::string await_next(const std::string& folder) {
  constexpr int kLookAgain = 100;  // ms
  const run::AttemptName name = run::parse_attempt(run::id_of(folder));
  const std::string next = run::runs_folder() + "/" + run::attempt_id(name.base, name.number + 1);
  while (true) {
    const bool may_come = run::living_owner(folder) != 0 && goes_on();
    if (sys::exists(next + "/out")) return next;
    if (!may_come) return {};
    (void)::poll(nullptr, 0, kLookAgain);
  }
}

// Like await_next, but only if the record announces a restart. Also tells the user.
std::string await_restart(const std::string& folder) {
  const auto text = sys::read_file(folder + "/record.json");
  const auto summary = run::parse_summary(text ? *text : "");
  if (!summary || summary->started_again.empty() || !goes_on()) return {};
  sys::print_err("muster: {}; muster will restart it\n", summary->text);
  return await_next(folder);
}

}  // namespace

LeaveOnInterrupt::LeaveOnInterrupt() {
  if (sys::is_ignored(SIGINT)) return;  // SIGINT is ignored in a script's background job
  struct sigaction leave = {};
  leave.sa_handler = [](int /*signal*/) { interrupt_came = 1; };
  leave.sa_flags = static_cast<int>(SA_RESETHAND);
  (void)::sigaction(SIGINT, &leave, nullptr);
}

LeaveOnInterrupt::~LeaveOnInterrupt() {
  if (!sys::is_ignored(SIGINT)) (void)std::signal(SIGINT, SIG_DFL);
}

bool LeaveOnInterrupt::came() {
  return interrupt_came != 0;
}

void show_stored(const std::string& folder, const Watching& how) {
  LogScreen screen(folder, how);
  screen.show_new();
  screen.show_rest();
}

std::string follow_run(std::string folder, const Watching& how) {
  const std::string elsewhere = run::owner_elsewhere(folder);
  if (!elsewhere.empty() && run::may_be_running(folder)) {
    sys::print_err("muster: only {}, where this run was started, can tell whether it still runs\n",
                   elsewhere);
  }
  follow_attempt(folder, how);
  for (std::string next = await_restart(folder); !next.empty(); next = await_restart(folder)) {
    folder = next;
    follow_attempt(folder, how);
  }
  return folder;
}

int leave_running(const std::string& folder) {
  const std::string id = run::id_of(folder);
  if (run::may_be_running(folder)) {
    sys::print_err(
        "muster: {} continues; to watch it again: muster attach {}; to end it: muster stop {}\n",
        id, id, id);
  }
  return 128 + SIGINT;
}

}  // namespace muster::cli
