#include "agent/inspector.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inbox.hpp"
#include "agent/processes.hpp"
#include "agent/record.hpp"
#include "agent/run_files.hpp"
#include "base/exit_code.hpp"
#include "base/json_fields.hpp"
#include "inspect/crew.hpp"
#include "inspect/inspect.hpp"
#include "inspect/inspection_fields.hpp"
#include "inspect/tool.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStacksTake{3000};  // longest time for stacks, after the window
constexpr milliseconds kGlanceTakes{500};
constexpr int kNiceOfGlance = 5;
constexpr milliseconds kAnswerTakes{1000};  // longest time to answer, on an overloaded host

milliseconds own_deadline(const Inspection& what) {
  return milliseconds(what.window_ms) + (what.stacks ? kStacksTake : kGlanceTakes);
}

// The ranks whose program is alive, according to the files that their rank processes wrote.
std::vector<RankStart> living_ranks(const std::string& folder) {
  std::vector<RankStart> starts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank.") || !name.ends_with(".jsonl")) continue;
    const auto text = sys::read_file(entry.path().string(), kMostEventBytes);
    if (!text) continue;
    const auto event = parse_event(text->substr(0, text->find('\n')));
    if (event && event->start && is_alive(event->start->program)) starts.push_back(*event->start);
  }
  return starts;
}

// Ends the tools that this process has started when the warden sends SIGTERM.
void end_tools_on_sigterm() {
  sigset_t term;
  (void)::sigemptyset(&term);
  (void)::sigaddset(&term, SIGTERM);
  (void)::pthread_sigmask(SIG_BLOCK, &term, nullptr);
  const bool started = inspect::Crew().start([term] {
    int signal = 0;
    (void)::sigwait(&term, &signal);
    inspect::end_tools();
    ::_exit(128 + SIGTERM);
  });
  if (!started) (void)::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

[[noreturn]] void become_inspector(const std::array<std::string, 5>& words, int out) {
  // In its own session, the inspector is also the leader of a process group, so that the warden can
  // kill it together with what it starts.
  (void)::setsid();
  (void)::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::dup2(::open("/dev/null", O_RDWR | O_CLOEXEC), STDIN_FILENO);
  (void)::dup2(out, STDOUT_FILENO);
  (void)::dup2(STDIN_FILENO, STDERR_FILENO);
  (void)::close_range(STDERR_FILENO + 1, ~0U, 0);
  std::array<char*, 6> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = const_cast<char*>(words[i].c_str());
  (void)::execv("/proc/self/exe", argv.data());
  ::_exit(kExitOwnFault);
}

}  // namespace

milliseconds Inspection::takes_at_most() const {
  return own_deadline(*this) + kAnswerTakes;
}

Inspector start_inspector(const std::string& run_id, const Inspection& what) {
  const std::array<std::string, 5> words = {"muster", "agent", "--inspect", run_id,
                                            json_of_fields(what)};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
  Inspector inspector{.out = sys::Fd(ends[0])};
  const sys::Fd theirs(ends[1]);
  (void)::fcntl(theirs.get(), F_SETFL, 0);
  inspector.pid = ::fork();
  if (inspector.pid == 0) become_inspector(words, theirs.get());
  inspector.pid = std::max(inspector.pid, 0);
  return inspector;
}

void signal_inspector(pid_t pid, int signal) {
  if (signal == SIGKILL) (void)::kill(-pid, SIGKILL);
  (void)::kill(pid, signal);
}

bool inspector_ended(pid_t pid) {
  return ::waitpid(pid, nullptr, WNOHANG) != 0;
}

std::string line_within(inspect::HostView view, std::size_t most_bytes) {
  const auto leave_out = [&](int step) {
    for (inspect::RankView& rank : view.ranks) {
      if (step == 0) rank.connections.clear();
      for (inspect::Group& group : rank.groups) {
        if (step == 1) std::erase_if(group.operations, [](const auto& one) { return one.done; });
      }
      if (step == 2) std::erase_if(rank.stacks, [](const auto& one) { return !one.python; });
    }
  };
  constexpr std::array kLeftOut = {"connections", "operations that are done", "native stacks"};
  std::string line = json_of_fields(view) + "\n";
  for (int step = 0; step < std::ssize(kLeftOut) && line.size() > most_bytes; ++step) {
    leave_out(step);
    view.not_seen.push_back(std::string(kLeftOut.at(static_cast<std::size_t>(step))) +
                            ": left out, because there was too much to report");
    line = json_of_fields(view) + "\n";
  }
  if (line.size() <= most_bytes) return line;
  return json_of_fields(inspect::HostView{
             .time_s = view.time_s, .not_seen = {"the inspection found too much to report"}}) +
         "\n";
}

int inspect_main(int argc, char** argv) {
  constexpr int kWords = 2;
  if (argc != kWords) return kUsageCode;
  end_tools_on_sigterm();
  const auto folder = run_folder(argv[0]);
  const auto what = parse_fields<Inspection>(argv[1], "cannot read what is wanted");
  if (!folder || !what) return kExitOwnFault;
  // A glance must not slow down ranks that use all CPUs.
  if (!what->stacks) (void)::setpriority(PRIO_PROCESS, 0, kNiceOfGlance);
  const std::vector<RankStart> starts = living_ranks(*folder);
  inspect::Request request{.ranks = {},
                           .recorders = *folder + kRecorders,
                           .window = milliseconds(what->window_ms),
                           .sample_every = milliseconds(what->sample_every_ms),
                           .stacks = what->stacks,
                           .ask_nccl = what->ask_nccl,
                           .deadline = own_deadline(*what)};
  const auto trees = process_trees(starts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    request.ranks.push_back({.rank = starts[i].rank, .pids = trees[i]});
  }
  const std::string line = line_within(inspect::inspect(request), kMaxLine / 2);
  const bool was_told = sys::write_all(STDOUT_FILENO, line) == line.size();
  inspect::end_tools();
  // Threads that are blocked in the kernel may still use what a normal exit would destroy.
  ::_exit(was_told ? 0 : kExitOwnFault);
}

}  // namespace muster::agent
