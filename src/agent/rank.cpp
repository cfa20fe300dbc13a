#include "agent/rank.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/binding.hpp"
#include "agent/descendants.hpp"
#include "agent/descriptors.hpp"
#include "agent/inspector.hpp"
#include "agent/network.hpp"
#include "agent/output_reader.hpp"
#include "agent/program.hpp"
#include "agent/rank_environment.hpp"
#include "agent/rank_options.hpp"
#include "agent/rank_runner.hpp"
#include "agent/rank_voice.hpp"
#include "agent/record.hpp"
#include "agent/run_files.hpp"
#include "agent/signals.hpp"
#include "agent/work_folder.hpp"
#include "base/environment.hpp"
#include "base/exit_code.hpp"
#include "facts/visible_gpus.hpp"
#include "rankenv/rank.hpp"

namespace muster::agent {
namespace {

constexpr std::chrono::milliseconds kWardenComes{10'000};
constexpr std::chrono::milliseconds kCleanUp{2000};

// What the rank's program gets, and the remarks for the user about it.
struct Prepared {
  rankenv::Rank rank;
  std::string host;
  Environment environment;
  std::vector<std::string> remarks = {};
  std::optional<std::vector<facts::Gpu>> near_gpu = {};  // set: bind to CPUs near one of these
};

// torchrun itself chooses the order of the hosts. If all planned hosts have joined, this gives each
// rank the number that was planned for it. It does so only while torchrun's agent serves the store:
// otherwise rank 0 serves it and must be on the master's host.
void take_place(const Assignment& placement, const Environment& inherited, rankenv::Rank& rank) {
  if (!rank.under_agent || placement.ranks != rank.local_size || placement.all_ranks != rank.size) {
    return;
  }
  const auto store = inherited.find("TORCHELASTIC_USE_AGENT_STORE");
  if (store == inherited.end() || store->second != "True") return;
  rank.rank = placement.first_rank + rank.local_rank;
}

// Whether this process already has the job's environment. torchrun was started with it (see
// host_engine.cpp) and passes it on, so that it can start ranks again even if the warden, which had
// that environment, was killed.
bool has_environment(const Environment& inherited, const RankOptions& options) {
  const auto engines_run = inherited.find("MUSTER_RUN_ID");
  const auto rank = rankenv::read(inherited);
  return rank && rank->under_agent && engines_run != inherited.end() &&
         engines_run->second == options.run_id;
}

Result<Prepared> prepare(const RankOptions& options, const RunFiles& files) {
  Environment inherited = own_environment();
  HandedOut handed;
  if (!has_environment(inherited, options)) {
    MUSTER_TRY(handed, files.handout());
  }
  for (const auto& [name, value] : handed.variables) inherited.insert_or_assign(name, value);
  if (!options.folder.empty()) go_to(options.folder, inherited);
  Prepared prepared{.host = files.host()};
  MUSTER_TRY(prepared.rank, rankenv::read(inherited));
  Wishes wishes{.rank = prepared.rank,
                .run_id = options.run_id,
                .master = options.master,
                .restarts = options.restarts,
                .join_store = options.confine_store,
                .unbuffered = !has_terminals()};
  if (!files.folder().empty() && sys::exists(files.folder() + kRecorders)) {
    wishes.recorders = files.folder() + kRecorders;
  }
  std::vector<facts::Gpu> gpus;
  if (const auto placement = files.placement()) {
    take_place(*placement, inherited, wishes.rank);
    prepared.rank = wishes.rank;
    wishes.rank.host_rank = placement->host_rank;
    wishes.rank.host_count = placement->host_count;
    if (!placement->interface.empty()) {
      wishes.network = network_variables(placement->interface, placement->variables);
    }
    if (placement->bind_to_gpu) prepared.near_gpu = placement->gpus;
    gpus = placement->gpus;
  } else if (!options.subnet.empty()) {
    const auto interface = interface_in(options.subnet);
    if (interface) wishes.network = network_variables(*interface);
    if (!interface) prepared.remarks.push_back(interface.error().what);
  }
  if (const auto range = parse_range(options.subnet); range && range->family == AF_INET6) {
    const auto interface = wishes.network.find("GLOO_SOCKET_IFNAME");
    if (interface != wishes.network.end()) wishes.network.merge(ipv6_variables(interface->second));
  }
  if (handed.activated) {
    inherited = lay_over(*std::move(handed.activated), inherited, prepared.rank);
  }
  leave_gids_to_user(inherited, wishes.network);
  Composed composed = compose(std::move(inherited), wishes);
  prepared.environment = std::move(composed.environment);
  const std::string device =
      facts::own_device(gpus, prepared.environment, prepared.rank.local_rank);
  if (!device.empty()) prepared.environment.insert_or_assign("CUDA_VISIBLE_DEVICES", device);
  if (prepared.rank.rank == 0 && !composed.kept.empty()) {
    prepared.remarks.push_back(
        fmt::format("already set in the environment, so muster did not change it: {}",
                    fmt::join(composed.kept, ", ")));
  }
  return prepared;
}

// Returns the voice through which the runner reports events and output.
Result<std::unique_ptr<RankVoice>> find_voice(const RankOptions& options, const RunFiles& files,
                                              const Prepared& prepared) {
  if (!options.run_id.empty() && !options.by_hand) {
    return speak_to_warden(files.folder(), kWardenComes);
  }
  const int rank = prepared.rank.rank;
  return speak_aloud(options.label ? fmt::format("[{}:{}] ", prepared.host, rank) : "");
}

// Runs in the runner's process. Its exit code matters only if it could not start the program.
[[noreturn]] void become_runner(const RankOptions& options, const RunFiles& files,
                                Prepared& prepared, const ProcessId& daemon,
                                const SignalGuard& guard, int front) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_NAME, "muster-rank");
  if (prepared.near_gpu) {
    const std::string remark =
        bind_near_gpu(*prepared.near_gpu, prepared.environment, prepared.rank.local_rank);
    if (!remark.empty()) prepared.remarks.push_back(remark);
  }
  auto voice = find_voice(options, files, prepared);
  Result<int> status = unexpected(Error{});
  if (voice) {
    status = run_rank({.program = options.program,
                       .environment = std::move(prepared.environment),
                       .rank = prepared.rank,
                       .remarks = std::move(prepared.remarks),
                       .files = files,
                       .daemon = daemon,
                       .serve_store = options.confine_store && prepared.rank.rank == 0},
                      guard, **voice, front);
  } else {
    status = unexpected(voice.error());
  }
  if (status) {
    (void)send_note(front, {.kind = Note::Kind::kStatus, .value = *status});
    ::_exit(0);
  }
  std::fprintf(stderr, "muster rank: %s\n", to_text(status.error()).c_str());
  ::_exit(kExitOwnFault);
}

// The process that the engine started. It stands in for the program, which is the runner's child.
class Front {
 public:
  Front(pid_t runner, sys::Fd socket, int signals)
      : runner_(runner), socket_(std::move(socket)), signals_(signals) {}

  // Returns the program's raw wait status, or the runner's own if the runner ended without
  // reporting one.
  [[nodiscard]] int run();

 private:
  void listen();
  void handle_signals();
  void look_after_runner();

  pid_t runner_;
  sys::Fd socket_;
  int signals_;
  pid_t program_ = 0;
  std::optional<int> status_;
};

void Front::listen() {
  bool closed = false;
  while (const auto note = receive_note(socket_.get(), closed)) {
    if (note->kind == Note::Kind::kProgram) program_ = note->value;
    if (note->kind == Note::Kind::kStatus) status_ = note->value;
  }
  if (closed) socket_ = sys::Fd();
}

void Front::look_after_runner() {
  int ended = 0;
  if (status_ || ::waitpid(runner_, &ended, WNOHANG) != runner_) return;
  listen();
  if (status_) return;
  status_ = ended;
  // The program was killed together with its runner, but its child processes may still be alive.
  if (program_ > 0) (void)::kill(-program_, SIGKILL);
  (void)kill_children(kCleanUp);
}

void Front::handle_signals() {
  while (const auto number = next_signal(signals_)) {
    if (*number == SIGCHLD) {
      look_after_runner();
    } else {
      (void)send_note(socket_.get(), {.kind = Note::Kind::kSignal, .value = *number});
    }
  }
}

int Front::run() {
  while (!status_) {
    pollfd watched[2] = {{signals_, POLLIN, 0}, {socket_.get(), POLLIN, 0}};
    (void)::poll(watched, 2, -1);
    listen();
    if (watched[0].revents != 0) handle_signals();
    if (!socket_.valid()) look_after_runner();
  }
  (void)::waitpid(runner_, nullptr, 0);  // the runner exits right after sending the status
  return *status_;
}

// Returns the program's raw wait status.
Result<int> run_program(const RankOptions& options, const SignalGuard& guard) {
  MUSTER_TRY(RunFiles files, RunFiles::open(options.run_id));
  if (files.over()) return unexpected(Error{.what = "this run has already ended"});
  MUSTER_TRY(Prepared prepared, prepare(options, files));
  // torchrun passes its own standard input to all its ranks; only rank 0 may read it.
  const bool only_first_reads = options.only_first_reads || prepared.rank.under_agent;
  if (only_first_reads && prepared.rank.rank != 0) read_nothing();
  MUSTER_TRY(const int signals, guard.open_descriptor());
  const sys::Fd signals_descriptor(signals);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return unexpected(system_error("cannot make a socket"));
  }
  sys::Fd ours(ends[0]);
  sys::Fd runners(ends[1]);
  const ProcessId daemon = identify(::getppid()).value_or(ProcessId{});
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t runner = ::fork();
  if (runner < 0) return unexpected(system_error("cannot start a process"));
  if (runner == 0) {
    ours = sys::Fd();
    become_runner(options, files, prepared, daemon, guard, runners.get());
  }
  // The runner makes the same call, and either may come first.
  (void)::setpgid(runner, runner);
  runners = sys::Fd();
  close_inherited();
  return Front(runner, std::move(ours), signals).run();
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
  return kExitOwnFault;
}

}  // namespace muster::agent
