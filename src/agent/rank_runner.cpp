#include "agent/rank_runner.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/descendants.hpp"
#include "agent/descriptors.hpp"
#include "agent/inspector.hpp"
#include "agent/output_reader.hpp"
#include "agent/processes.hpp"
#include "agent/store_server.hpp"
#include "agent/time_out.hpp"
#include "base/printable.hpp"
#include "sys/clock.hpp"
#include "sys/process_stat.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How long to read the output of a child process that outlives the program.
constexpr milliseconds kDrain{2000};
constexpr milliseconds kTell{10'000};      // time for last reports once the front process is gone
constexpr milliseconds kOrphanEnds{2000};  // time for an orphaned program to end after SIGTERM
constexpr milliseconds kLookAgain{1000};
constexpr milliseconds kDescendantsEnd{2000};  // time for killed descendants to disappear
// How long a program may take to end by itself after its front process is gone, as in MPI_Abort.
constexpr milliseconds kFrontGone{500};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

bool ends_programs(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGABRT;
}

std::string cannot_run(const std::string& program, int error) {
  const bool no_interpreter = error == ENOENT && program.find('/') != std::string::npos &&
                              ::access(program.c_str(), F_OK) == 0;
  return fmt::format(
      "cannot run '{}': {}{}", printable(program), std::generic_category().message(error),
      no_interpreter ? " (the file exists, but its interpreter or loader does not)" : "");
}

// Whether this rank must end itself: the warden is gone, and the launcher has not started a new one
// in time, so nobody else will end it.
bool is_orphan(const RankVoice& voice, const RunFiles& files) {
  const auto since = voice.alone_since();
  return since && Clock::now() - *since >= files.orphan_after();
}

class Runner {
 public:
  // `store_server` is a process that the program cannot work without; 0 if there is none.
  Runner(pid_t program, pid_t store_server, RankVoice& voice, const RunFiles& files, int front,
         int signals, sys::Fd out, sys::Fd err)
      : program_(program),
        store_server_(store_server),
        voice_(voice),
        files_(files),
        front_(front),
        signals_(signals),
        out_(sys::Stream::kOut, std::move(out)),
        err_(sys::Stream::kErr, std::move(err)) {}

  // Returns when the program has ended and its output has been read.
  void run();

  [[nodiscard]] double end_time_s() const { return end_time_s_; }
  [[nodiscard]] bool by_engine() const { return by_engine_; }
  [[nodiscard]] std::uint64_t out_bytes() const { return out_.bytes(); }
  [[nodiscard]] std::uint64_t err_bytes() const { return err_.bytes(); }
  [[nodiscard]] const ErrorTail& errors() const { return errors_; }

 private:
  void step();
  void listen_to_front();
  void handle_signals();
  void pass_on(int signal);
  void look_at_children();
  [[nodiscard]] bool finished() const {
    return ended_ && ((out_.ended() && err_.ended()) || Clock::now() >= give_up_);
  }
  [[nodiscard]] int patience_ms() const;

  pid_t program_;
  pid_t store_server_;
  RankVoice& voice_;
  const RunFiles& files_;
  int front_;  // -1: closed
  int signals_;
  OutputReader out_;
  OutputReader err_;
  OutputReader::Take take_ = [this](sys::Stream which, std::uint64_t at, std::string_view bytes) {
    voice_.output(which, at, bytes);
    if (which == sys::Stream::kErr) errors_.add(bytes);
  };
  ErrorTail errors_;
  bool ended_ = false;
  bool by_engine_ = false;
  double end_time_s_ = 0;
  bool orphan_ = false;
  // When to stop reading the output, or to kill a program whose front process or warden is gone.
  Clock::time_point give_up_ = Clock::time_point::max();
};

void Runner::look_at_children() {
  while (!ended_) {
    siginfo_t info{};
    // WNOWAIT keeps the program a zombie, so that the number of its process group is not reused.
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid != program_) {
      (void)::waitpid(info.si_pid, nullptr, 0);  // an orphan that this process inherited
      // Without its store the program would wait for a long time.
      if (info.si_pid == store_server_) (void)::kill(-program_, SIGTERM);
      continue;
    }
    ended_ = true;
    end_time_s_ = sys::unix_time();
    give_up_ = Clock::now() + kDrain;
  }
}

void Runner::pass_on(int signal) {
  // A program that has already exited by itself was not ended by the engine.
  look_at_children();
  if (ended_) return;
  // Nor was one that has begun to exit: the other ranks may notice that before we do, fail as well,
  // and make the engine end all ranks.
  const auto stat = sys::read_process_stat(program_);
  if (ends_programs(signal) && !(stat && stat->exiting)) by_engine_ = true;
  // The second call is for a program that has left its process group.
  if (::kill(-program_, signal) != 0) (void)::kill(program_, signal);
}

void Runner::handle_signals() {
  while (const auto number = next_signal(signals_)) {
    if (*number == SIGCHLD) {
      look_at_children();
    } else {
      pass_on(*number);
    }
  }
}

void Runner::listen_to_front() {
  bool closed = false;
  while (const auto note = receive_note(front_, closed)) {
    if (note->kind == Note::Kind::kSignal) pass_on(note->value);
  }
  if (!closed) return;
  front_ = -1;
  if (!ended_) give_up_ = Clock::now() + kFrontGone;
}

int Runner::patience_ms() const {
  const bool is_heard = voice_.descriptor() >= 0;
  if (give_up_ == Clock::time_point::max()) {
    return is_heard ? -1 : static_cast<int>(kLookAgain.count());
  }
  const auto left = std::chrono::duration_cast<milliseconds>(give_up_ - Clock::now());
  return static_cast<int>(std::max(left, milliseconds(0)).count()) + 1;
}

void Runner::step() {
  const bool hungry = voice_.has_room();
  std::array<pollfd, 5> entries{{{signals_, POLLIN, 0},
                                 {front_, POLLIN, 0},
                                 {voice_.descriptor(), voice_.events(), 0},
                                 {hungry ? out_.descriptor() : -1, POLLIN, 0},
                                 {hungry ? err_.descriptor() : -1, POLLIN, 0}}};
  if (::poll(entries.data(), entries.size(), patience_ms()) < 0) return;
  if (entries[0].revents != 0) handle_signals();
  if (entries[1].revents != 0) listen_to_front();
  if (entries[2].revents != 0 || entries[2].fd < 0) voice_.go_on();
  if (entries[3].revents != 0) out_.read_some(take_);
  if (entries[4].revents != 0) err_.read_some(take_);
  if (!ended_ && !orphan_ && is_orphan(voice_, files_)) {
    orphan_ = true;
    pass_on(SIGTERM);
    pass_on(SIGCONT);  // a stopped program cannot end
    give_up_ = std::min(give_up_, Clock::now() + kOrphanEnds);
  }
  if (!ended_ && Clock::now() >= give_up_) {
    by_engine_ = true;
    give_up_ = Clock::time_point::max();
    (void)::kill(-program_, SIGKILL);
    (void)::kill(program_, SIGKILL);
  }
}

void Runner::run() {
  look_at_children();
  while (!finished()) step();
  out_.read_rest(take_);
  err_.read_rest(take_);
}

// Sends the remaining reports, however long the launcher takes to receive them. The engine waits
// for this process meanwhile. Gives up after some time if the front process is gone, or if there is
// no warden.
void say_the_rest(RankVoice& voice, const RunFiles& files, int front) {
  auto give_up = Clock::time_point::max();
  while (!voice.finish(kLookAgain)) {
    bool closed = false;
    (void)receive_note(front, closed);
    if (closed) give_up = std::min(give_up, Clock::now() + kTell);
    if (Clock::now() >= give_up || is_orphan(voice, files)) return;
  }
}

// Delays the end of this process, because the engine ends the other ranks as soon as this one ends.
// In the meantime muster inspects these ranks, to learn which of them made this one give up.
// Returns early if the launcher has finished or has nothing to inspect.
void leave_time_for_evidence(const RunFiles& files, int front) {
  const auto until = Clock::now() + kEvidenceTakes;
  constexpr int kPauseMs = 50;
  bool closed = false;
  // A signal that arrives after the program's end means that the engine is already ending the job.
  while (!closed && !files.over() && !files.seen() && Clock::now() < until) {
    if (receive_note(front, closed)) return;
    (void)::poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace

bool send_note(int socket, Note note) {
  return ::send(socket, &note, sizeof note, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof note);
}

std::optional<Note> receive_note(int socket, bool& closed) {
  Note note;
  const ssize_t got = ::recv(socket, &note, sizeof note, MSG_DONTWAIT);
  closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  if (got != static_cast<ssize_t>(sizeof note)) return std::nullopt;
  return note;
}

Result<int> run_rank(const RankJob& job, const SignalGuard& guard, RankVoice& voice, int front) {
  MUSTER_TRY(OutputChannel out, open_terminal());
  MUSTER_TRY(OutputChannel err, open_pipe());
  MUSTER_TRY(const int signals_number, guard.open_descriptor());
  const sys::Fd signals(signals_number);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::optional<ProcessId> store_server;
  if (job.serve_store) {
    MUSTER_TRY(store_server, start_server({.python = job.program.front(),
                                           .environment = job.environment,
                                           .err = err.program_end.get(),
                                           .signals = guard}));
  }
  MUSTER_TRY(const Launched launched, launch({.program = job.program,
                                              .environment = job.environment,
                                              .out = out.program_end.get(),
                                              .err = err.program_end.get(),
                                              .signals = guard,
                                              .inspector = voice.listener()}));
  (void)send_note(front, {.kind = Note::Kind::kProgram, .value = launched.pid});
  out.program_end = sys::Fd();
  err.program_end = sys::Fd();
  close_inherited();
  RankStart start{.rank = job.rank.rank,
                  .local_rank = job.rank.local_rank,
                  .size = job.rank.size,
                  .program = identify(launched.pid).value_or(ProcessId{.pid = launched.pid}),
                  .shim = identify(::getpid()).value_or(ProcessId{}),
                  .daemon = job.daemon,
                  .time_s = sys::unix_time(),
                  .remarks = job.remarks};
  if (const std::string record = job.files.record(start.rank); !record.empty()) {
    (void)sys::write_file(record, to_line(start), 0600);
  }
  voice.start(start, out.our_end.get(), err.our_end.get());
  // Either the warden has seen this start before it began to end the run, or it has left this mark.
  if (job.files.over()) (void)::kill(launched.pid, SIGKILL);
  RankEnd end{.rank = job.rank.rank};
  if (const int error = launch_error(launched); error != 0) {
    end.failure = cannot_run(job.program.front(), error);
  }
  Runner runner(launched.pid, store_server ? store_server->pid : 0, voice, job.files, front,
                signals.get(), std::move(out.our_end), std::move(err.our_end));
  runner.run();
  rusage usage{};
  // After wait4 the program's PID may be reused, so the front process must forget it.
  (void)send_note(front, {.kind = Note::Kind::kProgram, .value = 0});
  if (::wait4(launched.pid, &end.status, 0, &usage) < 0) {
    return unexpected(system_error("cannot learn how the program ended"));
  }
  if (store_server) end_server(*store_server);
  end.left_over = kill_children(kDescendantsEnd);
  end.time_s = runner.end_time_s();
  end.user_s = seconds(usage.ru_utime);
  end.system_s = seconds(usage.ru_stime);
  end.max_rss_kb = usage.ru_maxrss;
  end.out_bytes = runner.out_bytes();
  end.err_bytes = runner.err_bytes();
  end.by_engine = runner.by_engine() && end.status != 0;
  const bool failed = end.status != 0 && !end.by_engine;
  end.timed_out = failed && runner.errors().mentions_time_out();
  end.cut_off = failed && !end.timed_out && runner.errors().mentions_cut_off();
  voice.end(end);
  say_the_rest(voice, job.files, front);
  const bool has_others = job.rank.size > 1 && voice.listener() != 0;
  if ((end.timed_out || end.cut_off) && has_others) leave_time_for_evidence(job.files, front);
  if (is_orphan(voice, job.files)) {
    for (const ProcessId& engine : engine_daemons(job.files.run_id(), {&start, 1})) {
      send_signal(engine, SIGKILL);  // the engine's launcher cannot tell it to exit
    }
  }
  return end.status;
}

}  // namespace muster::agent
