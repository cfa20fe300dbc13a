#include "agent/inspector.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "agent/record.hpp"
#include "agent/run_files.hpp"
#include "base/exit_code.hpp"
#include "base/json_fields.hpp"
#include "inspect/inspect.hpp"
#include "inspect/inspection_fields.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStacksTake{3000};  // at most, after the window
constexpr milliseconds kGlanceTakes{500};
constexpr milliseconds kAnswerTakes{1000};  // on a host with more to do than processors

milliseconds own_deadline(const Inspection& what) {
  return milliseconds(what.window_ms) + (what.stacks ? kStacksTake : kGlanceTakes);
}

// Ranks whose program is alive, as their shims recorded them.
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

int whole_number(std::string_view text) {
  int number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max(number, 0);
}

[[noreturn]] void become_inspector(const std::array<std::string, 7>& words, int out) {
  (void)::setsid();  // so that all that it starts can be ended with it
  (void)::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::dup2(::open("/dev/null", O_RDWR | O_CLOEXEC), STDIN_FILENO);
  (void)::dup2(out, STDOUT_FILENO);
  (void)::dup2(STDIN_FILENO, STDERR_FILENO);
  (void)::close_range(STDERR_FILENO + 1, ~0U, 0);
  std::array<char*, 8> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = const_cast<char*>(words[i].c_str());
  (void)::execv("/proc/self/exe", argv.data());
  ::_exit(kExitOwnFault);
}

}  // namespace

milliseconds Inspection::takes_at_most() const {
  return own_deadline(*this) + kAnswerTakes;
}

Inspector start_inspector(const std::string& run_id, const Inspection& what) {
  const std::array<std::string, 7> words = {"muster",
                                            "agent",
                                            "--inspect",
                                            run_id,
                                            std::to_string(what.window_ms),
                                            std::to_string(what.sample_every_ms),
                                            what.stacks ? "1" : "0"};
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

void end_inspector(pid_t pid) {
  if (pid <= 0) return;
  (void)::kill(-pid, SIGKILL);
  (void)::kill(pid, SIGKILL);  // before it has its own session
  // One that waits for a dead file system cannot be killed, and the warden must not wait for it.
  constexpr int kTries = 40;
  constexpr int kPauseMs = 5;
  for (int i = 0; i < kTries && ::waitpid(pid, nullptr, WNOHANG) == 0; ++i) {
    (void)::poll(nullptr, 0, kPauseMs);
  }
}

int inspect_main(int argc, char** argv) {
  constexpr int kWords = 4;
  if (argc != kWords) return kUsageCode;
  const auto folder = run_folder(argv[0]);
  if (!folder) return kExitOwnFault;
  const Inspection what{.window_ms = whole_number(argv[1]),
                        .sample_every_ms = whole_number(argv[2]),
                        .stacks = std::string_view(argv[3]) == "1"};
  const std::vector<RankStart> starts = living_ranks(*folder);
  inspect::Request request{.ranks = {},
                           .recorders = *folder + kRecorders,
                           .window = milliseconds(what.window_ms),
                           .sample_every = milliseconds(what.sample_every_ms),
                           .stacks = what.stacks,
                           .deadline = own_deadline(what)};
  const auto trees = process_trees(starts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    request.ranks.push_back({.rank = starts[i].rank, .pids = trees[i]});
  }
  const std::string line = json_of_fields(inspect::inspect(request)) + "\n";
  return sys::write_all(STDOUT_FILENO, line) == line.size() ? 0 : kExitOwnFault;
}

}  // namespace muster::agent
