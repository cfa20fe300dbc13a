#include "why/rank_reading.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "why/numbers.hpp"

namespace muster::why {
namespace {

using inspect::HostView;
using inspect::Process;
using inspect::RankView;
using In = StackReading::In;

constexpr double kMostCpu = 1e6;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr double kWorkingCpu = 0.5;   // share of a CPU: more than polling with pauses needs
constexpr double kLoopingCpu = 0.6;   // share of a CPU, for one thread
constexpr double kChangingCpu = 0.1;  // enough if the place in the program changes too
constexpr double kScarceCpu = 0.02;   // share of a CPU; a rank that waits for one still gets this
constexpr double kStillCpu = 0.1;     // a rank that uses less counts as still
constexpr double kPollingCpu = 0.3;   // like kStillCpu, for polling in a call that Python names
constexpr std::int64_t kWorkingIo = 1'000'000;  // bytes during the inspection
constexpr std::size_t kFewestPlaces = 3;        // samples needed to show a loop
constexpr std::size_t kMostLoopLines = 3;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

bool is_gone(const Process& process) {
  return process.state == "Z" || process.state == "X";
}

bool is_stopped(const Process& process) {
  if (is_gone(process)) return false;
  return process.state == "T" || process.state == "t" ||
         contains(process.waits_in, "refrigerator") || contains(process.waits_in, "freezer") ||
         contains(process.waits_in, "ptrace_stop") || contains(process.waits_in, "do_signal_stop");
}

bool reads_terminal(const Process& process) {
  return process.call.starts_with("read of ") &&
         (contains(process.call, "/dev/tty") || contains(process.call, "/dev/pts/"));
}

bool waits_for_file_lock(const Process& process) {
  return process.call.starts_with("lock of") || process.call.starts_with("wait for a semaphore");
}

const Process* main_of(const RankView& view) {
  for (const Process& process : view.processes) {
    if (view.pid != 0 && process.pid == view.pid) return &process;
  }
  // The main process has ended or is unknown, so take the first process that is left.
  for (const Process& process : view.processes) {
    if (!is_gone(process)) return &process;
  }
  return nullptr;
}

// Returns the running processes that the main process started, directly or indirectly. A shell
// above it is not among them.
std::vector<const Process*> descendants(const RankView& view, const Process& main) {
  std::set<pid_t> family{main.pid};
  std::vector<const Process*> found;
  for (const Process& process : view.processes) {
    if (&process == &main || !family.contains(process.parent)) continue;
    family.insert(process.pid);
    if (!is_gone(process)) found.push_back(&process);
  }
  return found;
}

bool places_differ(const RankView& view) {
  std::set<std::string> functions;
  for (const std::string& place : view.places) functions.insert(without_line(place));
  return functions.size() > 1;
}

bool is_crowded(const HostView* host) {
  return host != nullptr && host->processors >= 1 && host->load > host->processors;
}

// Lowers a limit of CPU use if the host has more runnable processes than CPUs, because a rank then
// gets less CPU time than it could use.
double scaled_cpu(double cpu, const HostView* host) {
  return is_crowded(host) ? std::max(cpu * host->processors / host->load, kChangingCpu) : cpu;
}

bool loops(const RankReading& reading) {
  const RankView& view = *reading.view;
  const bool native_only = view.places.empty() && reading.stack.native;
  if (!reading.stack.own_code_innermost) return false;
  if (reading.main->cpu < scaled_cpu(kLoopingCpu, reading.host_view)) return false;
  if (reading.stack.in != In::kElsewhere && reading.stack.in != In::kUnknown) return false;
  if (native_only) return !reading.stack.place.empty();
  const std::set<std::string> lines(view.places.begin(), view.places.end());
  return view.places.size() >= kFewestPlaces && !places_differ(view) &&
         lines.size() <= kMostLoopLines;
}

// Whether the rank is ready to run but hardly gets a CPU, because other processes use nearly all of
// them.
bool waits_for_processor(const RankReading& reading) {
  return is_crowded(reading.host_view) && reading.main->state == "R" && reading.cpu >= kScarceCpu;
}

template <class Test>
const Process* find_among(const std::vector<const Process*>& processes, Test test) {
  const auto found = std::find_if(processes.begin(), processes.end(),
                                  [&](const Process* process) { return test(*process); });
  return found == processes.end() ? nullptr : *found;
}

// Whether the main process waits for a child process. If so, the child explains what the rank does.
bool waits_for_descendants(const RankReading& reading) {
  return reading.stack.child || reading.stack.data_workers ||
         reading.main->call.starts_with("wait for a child") ||
         reading.main->call.starts_with("read of a pipe");
}

Activity activity_of(RankReading& reading) {
  const Process& main = *reading.main;
  const std::vector<const Process*> below = waits_for_descendants(reading)
                                                ? descendants(*reading.view, main)
                                                : std::vector<const Process*>();
  const auto explains = [&](auto test) {
    reading.subject = test(main) ? &main : find_among(below, test);
    return reading.subject != nullptr;
  };
  if (explains(is_stopped)) return Activity::kStopped;
  if (reading.stack.leaves &&
      (reading.stack.in == In::kElsewhere || reading.stack.in == In::kUnknown)) {
    reading.subject = &main;
    return Activity::kLeaving;
  }
  if (loops(reading)) {
    reading.subject = &main;
    return Activity::kLoops;
  }
  const bool works = reading.cpu >= scaled_cpu(kWorkingCpu, reading.host_view) ||
                     reading.io_bytes > kWorkingIo || waits_for_processor(reading) ||
                     (reading.cpu >= kChangingCpu && places_differ(*reading.view));
  if (!works && explains([](const Process& process) { return process.state == "D"; })) {
    return Activity::kUninterruptible;
  }
  if (!works && (explains(reads_terminal) || reading.stack.input)) return Activity::kInput;
  // Only the main process counts here: a child may wait for input that the rank will send, but
  // nobody writes to the rank's own standard input.
  if (!works && main.call.starts_with("read of standard input")) {
    reading.subject = &main;
    return Activity::kInput;
  }
  if (works) return Activity::kWorks;
  if (explains(waits_for_file_lock) || reading.stack.lock) return Activity::kLock;
  // Of the processes below, the one that uses the most CPU time is the most informative.
  reading.subject = below.empty() ? &main : below.front();
  for (const Process* process : below) {
    if (process->cpu > reading.subject->cpu) reading.subject = process;
  }
  return Activity::kIdle;
}

bool has_advanced(const RankView& view) {
  return std::any_of(view.groups.begin(), view.groups.end(),
                     [](const inspect::Group& group) { return group.done > group.done_before; });
}

// The Python stack shows only that backward() runs. If the rank does not compute, it waits there
// for other ranks.
void read_backward(RankReading& reading) {
  if (!reading.stack.backward || reading.stack.native || reading.cpu >= kChangingCpu) return;
  reading.stack.in = In::kOperation;
  reading.stack.operation = kUnnamedOperation;
}

void read_processes(RankReading& reading) {
  const RankView& view = *reading.view;
  reading.main = main_of(view);
  for (const Process& process : view.processes) {
    if (is_gone(process)) continue;
    reading.cpu += limited(process.cpu, 0, kMostCpu);
    reading.io_bytes += std::clamp<std::int64_t>(process.io_bytes, 0, kMostBytes);
  }
  for (const inspect::Connection& connection : view.connections) {
    reading.io_bytes += std::clamp<std::int64_t>(connection.moved, 0, kMostBytes);
  }
  reading.stack = read_stacks(view.stacks);
  reading.advanced = has_advanced(view);
  read_backward(reading);
}

bool stays_in_call(const RankReading& reading) {
  const std::vector<inspect::Frame>& first = reading.view->first_frames;
  if (first.empty() || reading.advanced) return false;
  const inspect::Stack stack{.frames = first};
  const StackReading before = read_stacks({&stack, 1});
  return before.in == reading.stack.in && before.operation == reading.stack.operation &&
         before.place == reading.stack.place;
}

bool is_elsewhere(const RankReading& reading) {
  const Activity activity = reading.activity;
  if (activity == Activity::kStopped || activity == Activity::kUninterruptible) return true;
  if (reading.stack.in != In::kElsewhere) return false;
  if (activity == Activity::kInput || reading.main->call.starts_with("lock of")) return true;
  return activity == Activity::kIdle && !may_wait_for_ranks(reading.main->call);
}

RankReading read_rank(const RankState& state, const RankView* view, const HostView* host_view) {
  RankReading reading{.rank = state.rank,
                      .host = state.host,
                      .state = &state,
                      .host_view = host_view,
                      .view = view};
  if (view != nullptr) read_processes(reading);
  if (state.life == RankState::Life::kEnded) {
    reading.activity = Activity::kEnded;
  } else if (state.life == RankState::Life::kNotStarted &&
             (view == nullptr || reading.main == nullptr)) {
    reading.activity = Activity::kNotStarted;
  } else if (view == nullptr) {
    reading.activity = Activity::kUnseen;
  } else if (reading.main == nullptr || is_gone(*reading.main)) {
    // If no process is listed at all, the inspection could not look, because it lists processes
    // that have ended as gone.
    reading.activity = view->processes.empty() ? Activity::kUnseen : Activity::kEnded;
    reading.main = nullptr;
  } else {
    reading.activity = activity_of(reading);
    const bool sampled = reading.stack.told_by_python && view->places.size() >= kFewestPlaces;
    reading.still = view->watched && reading.cpu < (sampled ? kPollingCpu : kStillCpu) &&
                    !places_differ(*view) && !reading.advanced;
    // The Python samples prove that the rank stays in the call, so it does not matter in which
    // function the native stack caught its polling.
    if (sampled && reading.still) reading.stack.spins = false;
    reading.stays = reading.stack.spins && stays_in_call(reading);
    reading.elsewhere = is_elsewhere(reading);
  }
  return reading;
}

}  // namespace

bool gave_up(const RankReading& rank) {
  return rank.activity == Activity::kEnded && (rank.state->timed_out || rank.state->cut_off);
}

bool may_wait_for_ranks(const std::string& call) {
  if (call.empty()) return true;
  for (const char* beginning :
       {"futex", "poll", "ppoll", "select", "pselect", "sleep or poll", "read of a socket",
        "write of a socket", "ioctl", "connect", "accept", "system call"}) {
    if (call.starts_with(beginning)) return true;
  }
  return false;
}

std::vector<RankReading> read_ranks(const Scene& scene) {
  std::map<int, std::pair<const RankView*, const HostView*>> views;
  for (const auto& [name, host] : scene.hosts) {
    for (const RankView& view : host.ranks) views.try_emplace(view.rank, &view, &host);
  }
  std::map<int, const RankState*> states;
  for (const RankState& state : scene.ranks) states.try_emplace(state.rank, &state);
  std::vector<RankReading> readings;
  for (const auto& [rank, state] : states) {
    const auto view = views.find(rank);
    const auto host = scene.hosts.find(state->host);
    readings.push_back(read_rank(*state, view == views.end() ? nullptr : view->second.first,
                                 host == scene.hosts.end() ? nullptr : &host->second));
  }
  return readings;
}

}  // namespace muster::why
