#include "agent/rank.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/descendants.hpp"
#include "agent/descriptors.hpp"
#include "agent/group_guard.hpp"
#include "agent/network.hpp"
#include "agent/program.hpp"
#include "agent/rank_environment.hpp"
#include "agent/rank_options.hpp"
#include "agent/record.hpp"
#include "agent/run_files.hpp"
#include "agent/signals.hpp"
#include "agent/stream.hpp"
#include "agent/work_folder.hpp"
#include "base/environment.hpp"
#include "base/printable.hpp"
#include "rankenv/rank.hpp"
#include "sys/clock.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kDrain = std::chrono::seconds(2);
constexpr milliseconds kCleanUp = std::chrono::seconds(2);

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// What the program gets, and what is to be said about it.
struct Prepared {
  rankenv::Rank rank;
  std::string host;
  Environment environment;
  std::vector<std::string> remarks = {};
};

std::map<std::string, std::string> decided_network(const Placement& placement) {
  std::optional<RdmaDevice> rdma;
  if (!placement.rdma.empty()) rdma = RdmaDevice{.port = placement.rdma};
  if (rdma && placement.gid_index >= 0) rdma->gid_index = placement.gid_index;
  return network_variables(placement.interface, rdma);
}

// torchrun numbers the hosts as it likes; where all of them came, the ranks are where they were
// meant to be. Only while its agent holds the store: a rank 0 that holds it is bound to its host.
void take_place(const Placement& placement, const Environment& inherited, rankenv::Rank& rank) {
  if (!rank.torchrun || placement.ranks != rank.local_size || placement.all_ranks != rank.size) {
    return;
  }
  const auto store = inherited.find("TORCHELASTIC_USE_AGENT_STORE");
  if (store == inherited.end() || store->second != "True") return;
  rank.rank = placement.first_rank + rank.local_rank;
}

Result<Prepared> prepare(const RankOptions& options, const RunFiles& files, bool out_is_terminal) {
  Environment inherited = own_environment();
  if (options.carried) {
    MUSTER_TRY(const Environment carried, files.await_variables(kVariablesCome));
    for (const auto& [name, value] : carried) inherited.insert_or_assign(name, value);
  }
  if (!options.folder.empty()) go_to(options.folder, inherited);
  Prepared prepared{.host = files.host()};
  MUSTER_TRY(prepared.rank, rankenv::read(inherited));
  Wishes wishes{.rank = prepared.rank,
                .run_id = options.run_id,
                .master = options.master,
                .restarts = options.restarts,
                .unbuffered = !out_is_terminal};
  if (const auto placement = files.placement()) {
    take_place(*placement, inherited, wishes.rank);
    prepared.rank = wishes.rank;
    wishes.rank.host_rank = placement->host_rank;
    wishes.rank.host_count = placement->host_count;
    if (!placement->interface.empty()) wishes.network = decided_network(*placement);
  } else if (!options.subnet.empty()) {
    const auto interface = interface_in(options.subnet);
    if (interface) wishes.network = network_variables(*interface, std::nullopt);
    if (!interface) prepared.remarks.push_back(interface.error().what);
  }
  MUSTER_TRY(auto activated, files.activated());
  Composed composed = compose(
      activated ? lay_over(*std::move(activated), inherited, prepared.rank) : inherited, wishes);
  prepared.environment = std::move(composed.environment);
  if (prepared.rank.rank == 0 && !composed.kept.empty()) {
    prepared.remarks.push_back(
        fmt::format("kept as it was set: {}", fmt::join(composed.kept, ", ")));
  }
  return prepared;
}

void remark(Stream& err, std::string_view what) {
  err.say(fmt::format("muster: {}\n", what));
}

// Runs from the fork to the program's end.
class Shim {
 public:
  Shim(pid_t program, Stream& out, Stream& err, int signals)
      : program_(program), out_(out), err_(err), signals_(signals) {}

  // Until the program has ended and its output is through, which after the end gets two seconds.
  void run();

  [[nodiscard]] double end_time_s() const { return end_time_s_; }

 private:
  [[nodiscard]] bool finished() const {
    return ended_ && ((out_.done() && err_.done()) || Clock::now() >= deadline_);
  }
  [[nodiscard]] nanoseconds patience() const;
  void step();
  void handle_signals();
  void look_at_children();
  void report_file_errors();

  pid_t program_;
  Stream& out_;
  Stream& err_;
  int signals_;
  bool ended_ = false;
  double end_time_s_ = 0;
  Clock::time_point deadline_ = {};
};

// Negative: for ever.
nanoseconds Shim::patience() const {
  nanoseconds least(-1);
  const auto consider = [&](nanoseconds one) {
    if (one >= nanoseconds(0) && (least < nanoseconds(0) || one < least)) least = one;
  };
  consider(out_.pause());
  consider(err_.pause());
  if (ended_) consider(std::max(nanoseconds(deadline_ - Clock::now()), nanoseconds(0)));
  return least;
}

void Shim::look_at_children() {
  while (!ended_) {
    siginfo_t info{};
    // WNOWAIT: while the program is a zombie, its group's number cannot become another's.
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid != program_) {
      (void)::waitpid(info.si_pid, nullptr, 0);  // an orphan that fell to us
      continue;
    }
    ended_ = true;
    end_time_s_ = sys::unix_time();
    deadline_ = Clock::now() + kDrain;
  }
}

void Shim::handle_signals() {
  while (const auto number = next_signal(signals_)) {
    if (*number == SIGCHLD) {
      look_at_children();
    } else if (::kill(-program_, *number) != 0) {
      (void)::kill(program_, *number);  // it has left its group
    }
  }
}

// The output goes on to the engine.
void Shim::report_file_errors() {
  for (Stream* stream : {&out_, &err_}) {
    const int error = stream->take_file_error();
    if (error == 0) continue;
    remark(err_, fmt::format("the file of standard {} is incomplete from here: {}",
                             stream == &out_ ? "output" : "error",
                             std::generic_category().message(error)));
  }
}

void Shim::step() {
  std::array<pollfd, 5> entries{};
  entries[0] = {.fd = signals_, .events = POLLIN, .revents = 0};
  out_.fill(&entries[1], ended_);
  err_.fill(&entries[3], ended_);
  const nanoseconds wait = patience();
  const timespec span{.tv_sec = wait.count() / 1'000'000'000,
                      .tv_nsec = wait.count() % 1'000'000'000};
  if (::ppoll(entries.data(), entries.size(), wait.count() < 0 ? nullptr : &span, nullptr) < 0) {
    return;
  }
  if (entries[0].revents != 0) handle_signals();
  out_.handle(&entries[1]);
  err_.handle(&entries[3]);
  report_file_errors();
}

void Shim::run() {
  look_at_children();
  while (true) {
    out_.send();
    err_.send();
    if (finished()) break;
    step();
  }
  out_.read_rest();
  err_.read_rest();
}

void append_line(const sys::Fd& file, const std::string& line) {
  if (file.valid()) (void)!::write(file.get(), line.data(), line.size());
}

std::string start_line(const rankenv::Rank& rank, pid_t program) {
  return to_line(RankStart{.rank = rank.rank,
                           .local_rank = rank.local_rank,
                           .size = rank.size,
                           .program = identify(program).value_or(ProcessId{.pid = program}),
                           .shim = identify(::getpid()).value_or(ProcessId{}),
                           .daemon = identify(::getppid()).value_or(ProcessId{}),
                           .time_s = sys::unix_time()});
}

std::string cannot_run(const std::string& program, int error) {
  const bool no_interpreter = error == ENOENT && program.find('/') != std::string::npos &&
                              ::access(program.c_str(), F_OK) == 0;
  return fmt::format("cannot run '{}': {}{}", printable(program),
                     std::generic_category().message(error),
                     no_interpreter ? " (the file is there, what it names to run it is not)" : "");
}

// Everything that can fail before the program is tried.
struct Ready {
  RunFiles files;
  Prepared prepared;
  sys::Fd record;
  OutputChannel out;
  OutputChannel err;
  Stream out_stream;
  Stream err_stream;
  sys::Fd signals;
};

Result<Ready> make_ready(const RankOptions& options, const SignalGuard& guard) {
  MUSTER_TRY(RunFiles files, RunFiles::open(options.run_id));
  if (files.over()) return unexpected(Error{.what = "this run has been ended already"});
  MUSTER_TRY(OutputChannel out, open_channel(STDOUT_FILENO));
  MUSTER_TRY(OutputChannel err, open_channel(STDERR_FILENO));
  MUSTER_TRY(Prepared prepared, prepare(options, files, out.terminal));
  const int rank = prepared.rank.rank;
  MUSTER_TRY(sys::Fd record, files.append(rank, "jsonl"));
  MUSTER_TRY(sys::Fd out_file, files.append(rank, "out"));
  MUSTER_TRY(sys::Fd err_file, files.append(rank, "err"));
  MUSTER_TRY(const int signals, guard.open_descriptor());
  const std::string label = options.label ? fmt::format("[{}:{}] ", prepared.host, rank) : "";
  Stream out_stream(std::move(out.shim_end), std::move(out_file), STDOUT_FILENO, label);
  Stream err_stream(std::move(err.shim_end), std::move(err_file), STDERR_FILENO, label);
  return Ready{.files = std::move(files),
               .prepared = std::move(prepared),
               .record = std::move(record),
               .out = std::move(out),
               .err = std::move(err),
               .out_stream = std::move(out_stream),
               .err_stream = std::move(err_stream),
               .signals = sys::Fd(signals)};
}

// The sockets over which the program speaks to its launcher's daemon. Hydra kills every process of
// a rank, this one too, at the end of the socket of one that did not say good-bye: it comes when we
// end, after the program's own end was recorded.
std::vector<int> engine_sockets(const Environment& environment) {
  std::vector<int> sockets;
  for (const char* name : {"PMI_FD", "HYDI_CONTROL_FD"}) {
    const auto found = environment.find(name);
    if (found == environment.end()) continue;
    int number = -1;
    const std::string& text = found->second;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (bad == std::errc() && end == text.data() + text.size()) sockets.push_back(number);
  }
  return sockets;
}

// The raw wait status of the program.
Result<int> run_program(const RankOptions& options, const SignalGuard& guard) {
  MUSTER_TRY(Ready ready, make_ready(options, guard));
  // torchrun gives its own standard input to all its ranks; it is rank 0's.
  const bool only_first_reads = options.only_first_reads || ready.prepared.rank.torchrun;
  if (only_first_reads && ready.prepared.rank.rank != 0) read_nothing();
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  MUSTER_TRY(const Launched launched, launch({.program = options.program,
                                              .environment = ready.prepared.environment,
                                              .out = ready.out.program_end.get(),
                                              .err = ready.err.program_end.get(),
                                              .signals = guard}));
  (void)::prctl(PR_SET_TIMERSLACK, 1000);  // ns; our waits for the engine are short
  append_line(ready.record, start_line(ready.prepared.rank, launched.pid));
  if (ready.files.over()) (void)::kill(launched.pid, SIGKILL);
  ready.out.program_end = sys::Fd();
  ready.err.program_end = sys::Fd();
  close_inherited(engine_sockets(ready.prepared.environment));
  auto group = GroupGuard::start(launched.pid);
  for (const std::string& text : ready.prepared.remarks) remark(ready.err_stream, text);
  if (!group) remark(ready.err_stream, group.error().what);
  RankEnd end{.rank = ready.prepared.rank.rank};
  if (const int error = launch_error(launched); error != 0) {
    end.failure = cannot_run(options.program.front(), error);
    remark(ready.err_stream, end.failure);
  }
  Shim shim(launched.pid, ready.out_stream, ready.err_stream, ready.signals.get());
  shim.run();
  if (group) group->dismiss();
  rusage usage{};
  if (::wait4(launched.pid, &end.status, 0, &usage) < 0) {
    return unexpected(system_error("cannot learn how the program ended"));
  }
  end.left_over = kill_children(kCleanUp, group ? group->pid() : 0);
  end.time_s = shim.end_time_s();
  end.user_s = seconds(usage.ru_utime);
  end.system_s = seconds(usage.ru_stime);
  end.max_rss_kb = usage.ru_maxrss;
  end.out_bytes = ready.out_stream.bytes();
  end.err_bytes = ready.err_stream.bytes();
  append_line(ready.record, to_line(end));
  return end.status;
}

}  // namespace

std::optional<int> rank_main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "rank") return std::nullopt;
  const auto options = parse_rank_options(std::vector<std::string>(argv + 2, argv + argc));
  if (!options) {
    std::fprintf(stderr, "muster rank: %s\n", to_text(options.error()).c_str());
    return kUsageCode;
  }
  keep_standard_descriptors();
  const SignalGuard guard;
  const auto status = run_program(*options, guard);
  if (status) return end_like(*status);
  std::fprintf(stderr, "muster rank: %s\n", to_text(status.error()).c_str());
  return kOwnFault;
}

}  // namespace muster::agent
