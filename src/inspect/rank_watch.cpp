#include "inspect/rank_watch.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"
#include "inspect/flight_record.hpp"
#include "inspect/stack_texts.hpp"
#include "inspect/tool.hpp"
#include "sys/clock.hpp"
#include "sys/path_search.hpp"

namespace muster::inspect {
namespace {

constexpr auto kPatienceWithRecorder = std::chrono::milliseconds(800);
constexpr auto kPatienceWithTraceback = std::chrono::milliseconds(500);
constexpr auto kPatienceWithLook = std::chrono::milliseconds(200);
constexpr auto kPatienceWithSample = std::chrono::milliseconds(200);
constexpr auto kPatienceWithPyspy = std::chrono::milliseconds(1000);
constexpr auto kPatienceWithEuStack = std::chrono::milliseconds(2500);
constexpr auto kShortestSample = std::chrono::milliseconds(20);
constexpr auto kLeastForStack = std::chrono::milliseconds(1000);
constexpr auto kLeastForFirstStack = std::chrono::milliseconds(500);
constexpr auto kPatienceWithDebugger = std::chrono::milliseconds(500);
// After so many, no more samples are taken, because each failed one fills the recorder's queue
// further.
constexpr int kMostFailedSamples = 50;

// The recorders of PyTorch for CPU backends, of NCCL, and of muster's own backends.
constexpr const char* kRecordHandlers[] = {"fr_trace_json", "dump_nccl_trace_json",
                                           "muster_operations"};
// Makes NCCL's recorder leave out completed operations. Other recorders ignore it.
constexpr const char* kOnlyActive = "?onlyactive=true";

bool has_ended(const std::string& state) {
  return state == "X" || state == "Z";
}

// If ptrace was denied, adds the likely reason: on many distributions, only ancestors of a process
// may use ptrace on it.
std::string with_reason(std::string failure) {
  const std::string scope = facts::first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (failure != kPtraceDenied || scope.empty() || scope == "0") return failure;
  return fmt::format("{} (kernel.yama.ptrace_scope is {})", failure, printable(scope));
}

std::string find_eu_stack() {
  const std::string found = sys::find_program("eu-stack").value_or("/usr/bin/eu-stack");
  return is_trusted_program(found) ? found : "";
}

}  // namespace

struct RankWatch::Answers {
  std::vector<std::vector<Group>> records;
  std::vector<std::string> handlers;
  bool late = false;
  std::string bad;  // what is wrong with a record
};

RankWatch::RankWatch(RankProcesses processes, const Schedule& schedule,
                     std::shared_ptr<const Recorders> recorders)
    : pids_(std::move(processes.pids)),
      schedule_(schedule),
      all_recorders_(std::move(recorders)),
      view_(RankView{.rank = processes.rank}) {
  for (const Recorder& one : all_recorders_->list()) {
    if (std::ranges::find(pids_, one.pid) != pids_.end()) recorders_.push_back(one);
  }
  has_traceback_ = !recorders_.empty();
}

void RankWatch::watch() {
  look_first();
  take_first_answers();
  learn_names();
  sample();
  look_again();
  const bool was_told = take_last_answers();
  view_.change([&](RankView& view) { view.watched = was_told; });
  if (schedule_.stacks) read_python_stack();
}

void RankWatch::note(const std::string& not_seen) {
  view_.change([&](RankView& view) {
    if (std::ranges::find(view.not_seen, not_seen) == view.not_seen.end()) {
      view.not_seen.push_back(not_seen);
    }
  });
}

bool RankWatch::is_stopped() const {
  const auto stat = sys::read_process_stat(main_);
  return stat && was_stopped(main_, stat->state);
}

void RankWatch::look_first() {
  std::vector<NamedProcess> names;
  std::vector<Process> processes;
  for (const pid_t pid : pids_) {
    first_.push_back(look_at_process(pid));
    processes.push_back(compare_looks(first_.back(), first_.back()));
    names.push_back(name_of_process(pid));
  }
  main_ = main_process(names);
  view_.change([&](RankView& view) {
    view.pid = main_;
    view.processes = processes;
  });
}

// Reads files in /proc that may block while the kernel holds the process's memory. So watch() calls
// this only after the first look and the first answers.
void RankWatch::learn_names() {
  if (!schedule_.stacks) return;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    const std::string command = command_of(pids_[i]);
    view_.change([&](RankView& view) { view.processes[i].command = command; });
  }
  if (main_ == 0) return;
  is_python_ = uses_python(main_);
  if (!is_python_) return;
  pyspy_ = find_pyspy(main_);
  if (pyspy_.empty()) why_no_pyspy_ = "py-spy is not installed";
}

void RankWatch::look_again() {
  // Wait until our own eu-stack is done: a process with a debugger looks as if somebody had stopped
  // it.
  const std::unique_lock not_attached(attached_, kPatienceWithDebugger);
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    const pid_t pid = pids_[i];
    Process process = compare_looks(first_[i], look_at_process(pid));
    if (schedule_.stacks && !has_ended(process.state)) {
      process.waits_in = waiting_place(pid);
      const std::string frozen = process.state == "R" ? "" : frozen_cgroup(pid);
      const CallLook look = look_at_call(pid);
      process.call = call_words(pid, look, process.waits_in);
      if (look.denied) note("no system calls: " + with_reason(kPtraceDenied));
      if (!frozen.empty()) process.waits_in = "freezer, for cgroup " + frozen;
    }
    view_.change([&](RankView& view) {
      process.command = view.processes[i].command;
      view.processes[i] = process;
      if (pid == view.pid && has_ended(process.state)) view.pid = 0;
    });
  }
}

RankWatch::Answers RankWatch::ask_recorders() const {
  Answers answers;
  const Deadline deadline = within(schedule_.patience * kPatienceWithRecorder, schedule_.end);
  for (const Recorder& recorder : recorders_) {
    for (const char* handler : kRecordHandlers) {
      const RecorderAnswer answer = all_recorders_->ask(recorder.name, handler, deadline);
      answers.late = answers.late || answer.answered == Answered::kNotInTime;
      if (answers.late) break;
      if (answer.answered != Answered::kYes) continue;
      auto record = parse_flight_record(answer.body, sys::unix_time());
      if (record) {
        answers.records.push_back(*std::move(record));
        answers.handlers.emplace_back(handler);
      } else {
        answers.bad = record.error().what;
      }
    }
  }
  return answers;
}

void RankWatch::take_first_answers() {
  if (recorders_.empty()) return;
  if (is_stopped()) return note("no collectives: the process is stopped, so it cannot tell them");
  const Answers answers = ask_recorders();
  handlers_ = answers.handlers;
  groups_before_ = merge_groups(answers.records);
  view_.change([&](RankView& view) {
    view.recorded = !answers.records.empty();
    view.groups = groups_before_;
    set_before(view.groups, groups_before_);
  });
  if (answers.late) note("no collectives: the recorder in the process did not answer in time");
  if (!answers.bad.empty()) note("no collectives: the recorder's answer is " + answers.bad);
}

// Returns false if it is unknown what the rank did since the first answers.
bool RankWatch::take_last_answers() {
  if (handlers_.empty() || is_stopped()) return true;
  const Answers answers = ask_recorders();
  if (answers.records.empty()) {
    note("collectives only as of the beginning: the recorder did not answer again");
    return false;
  }
  std::vector<Group> groups = merge_groups(answers.records);
  set_before(groups, groups_before_);
  view_.change([&](RankView& view) { view.groups = std::move(groups); });
  return true;
}

// Takes samples until the second look.
void RankWatch::sample() {
  const auto every = schedule_.sample_every.count() > 0
                         ? std::max(schedule_.sample_every, kShortestSample)
                         : std::chrono::milliseconds(0);
  const auto between_places = time_left(schedule_.second_look) / schedule_.places;
  Deadline next_place = Clock::now();
  Deadline next_sample = Clock::now();
  while (Clock::now() < schedule_.second_look) {
    Deadline next = schedule_.second_look;
    if (is_python_ && !pyspy_is_slow_) {
      if (Clock::now() >= next_place) sample_place();
      while (next_place <= Clock::now()) next_place += std::max(between_places, kShortestSample);
      next = std::min(next, next_place);
    }
    if (every.count() > 0 && !handlers_.empty() && failed_samples_ < kMostFailedSamples) {
      if (Clock::now() >= next_sample) sample_collectives();
      while (next_sample <= Clock::now()) next_sample += every;
      next = std::min(next, next_sample);
    }
    std::this_thread::sleep_until(next);
  }
}

void RankWatch::sample_collectives() {
  bool was_told = false;
  bool is_in_one = false;
  const Deadline deadline = within(schedule_.patience * kPatienceWithSample, schedule_.second_look);
  for (const Recorder& recorder : recorders_) {
    for (const std::string& handler : handlers_) {
      const RecorderAnswer answer =
          all_recorders_->ask(recorder.name, handler + kOnlyActive, deadline);
      if (answer.answered != Answered::kYes) continue;
      was_told = true;
      is_in_one = is_in_one || tells_unfinished(answer.body);
    }
  }
  if (!was_told) {
    ++failed_samples_;
    return;
  }
  view_.change([&](RankView& view) {
    ++view.samples;
    if (is_in_one) ++view.samples_in_collectives;
  });
}

void RankWatch::sample_place() {
  std::string source;
  const std::string place = users_place(python_frames(source, schedule_.second_look));
  if (!place.empty()) view_.change([&](RankView& view) { view.places.push_back(place); });
}

std::vector<Frame> RankWatch::python_frames(std::string& source, Deadline deadline) {
  if (!pyspy_.empty()) {
    const ToolAnswer answer =
        run_tool({pyspy_, "dump", "--nonblocking", "--json", "--pid", std::to_string(main_)},
                 schedule_.patience * kPatienceWithPyspy, deadline);
    std::vector<Frame> frames = parse_pyspy(answer.out, main_);
    if (!frames.empty()) {
      source = "py-spy";
      return frames;
    }
    why_no_pyspy_ = with_reason(tool_failure("py-spy", answer));
    // One attempt may fail and the next succeed, because the process runs meanwhile. Only a denial
    // is permanent.
    if (why_no_pyspy_.starts_with(kPtraceDenied)) pyspy_.clear();
    pyspy_is_slow_ = answer.timed_out;
  }
  source = "dump_traceback";
  return traceback_frames(deadline);
}

std::vector<Frame> RankWatch::traceback_frames(Deadline deadline) {
  if (!has_traceback_ || is_stopped()) return {};
  const auto recorder = std::ranges::find(recorders_, main_, &Recorder::pid);
  if (recorder == recorders_.end()) return {};
  const RecorderAnswer answer =
      all_recorders_->ask(recorder->name, "dump_traceback",
                          within(schedule_.patience * kPatienceWithTraceback, deadline));
  // The handler waits for the GIL. If it has not answered, a second request would only block
  // another thread of the process.
  if (answer.answered != Answered::kYes) has_traceback_ = false;
  return parse_faulthandler(answer.body);
}

void RankWatch::read_python_stack() {
  if (!is_python_ || view_.copy().pid == 0) return;
  Stack stack{.python = true};
  stack.frames = python_frames(stack.source, schedule_.tools_end);
  if (stack.frames.empty()) {
    return note(fmt::format("no Python stack: {}{}", why_no_pyspy_,
                            recorders_.empty() ? "" : ", and the process did not tell its own"));
  }
  const std::string place = users_place(stack.frames);
  view_.change([&](RankView& view) {
    view.stacks.insert(view.stacks.begin(), stack);
    if (!place.empty()) view.places.push_back(place);
  });
}

void RankWatch::read_first_stack() {
  if (!recorders_.empty()) return;
  const Deadline known = within(kPatienceWithLook, schedule_.second_look);
  while (view_.copy().pid == 0 && time_left(known).count() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const pid_t pid = view_.copy().pid;
  if (pid == 0 || uses_python(pid)) return;
  const NativeStack stack = take_native_stack(pid, kLeastForFirstStack, schedule_.second_look);
  view_.change([&](RankView& view) { view.first_frames = stack.frames; });
}

void RankWatch::read_native_stack() {
  const pid_t pid = view_.copy().pid;
  if (pid == 0) return;
  const NativeStack taken = take_native_stack(pid, kLeastForStack, schedule_.tools_end);
  if (!taken.why_none.empty()) note("no native stack: " + taken.why_none);
  if (taken.frames.empty()) return;
  const Stack stack{.source = "eu-stack", .frames = taken.frames};
  view_.change([&](RankView& view) { view.stacks.push_back(stack); });
}

RankWatch::NativeStack RankWatch::take_native_stack(pid_t pid, std::chrono::milliseconds least,
                                                    Deadline deadline) {
  const std::string program = find_eu_stack();
  if (program.empty()) return {.why_none = "eu-stack (package elfutils) is not installed"};
  if (time_left(deadline) < least) return {.why_none = "no time was left for it"};
  const CallLook look = look_at_call(pid);
  if (look.denied) return {.why_none = with_reason(kPtraceDenied)};
  if (look.call && stop_would_break(pid, *look.call)) {
    return {.why_none = "to take it would interrupt the system call of the process"};
  }
  const auto stat = sys::read_process_stat(pid);
  if (!stat || stat->ended()) return {};
  if (stat->state == 'D') return {.why_none = "a debugger cannot stop a process in state D"};
  if (tracer_of(pid) != 0) return {.why_none = "another debugger is attached"};
  const std::lock_guard attached(attached_);
  const ToolAnswer answer = run_attached({program, "-1", "-n", "48", "-p", std::to_string(pid)},
                                         pid, schedule_.patience * kPatienceWithEuStack, deadline);
  NativeStack stack{.frames = parse_eu_stack(answer.out)};
  if (stack.frames.empty()) stack.why_none = with_reason(tool_failure("eu-stack", answer));
  return stack;
}

}  // namespace muster::inspect
