#include "inspect/tool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <semaphore>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lower_case.hpp"
#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"
#include "inspect/process_texts.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"
#include "sys/process_stat.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::size_t kMostErrors = std::size_t{4} << 10;
constexpr std::size_t kMostShownOfTool = 160;
constexpr std::size_t kMostOfEnvironment = std::size_t{1} << 20;
constexpr auto kGrace = std::chrono::milliseconds(200);
constexpr auto kEndingTakes = std::chrono::milliseconds(500);
constexpr auto kLookWhetherToEnd = std::chrono::milliseconds(20);

std::atomic<bool> tools_must_end = false;
std::atomic<int> attached_tools = 0;

bool is_over(Deadline deadline) {
  return tools_must_end || time_left(deadline).count() == 0;
}

// Permission to run a tool. Waits until fewer tools are running than there are CPUs.
class Turn {
 public:
  explicit Turn(Deadline deadline) {
    while (!is_over(deadline) && !has_it_) has_it_ = turns().try_acquire_for(kLookWhetherToEnd);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_it_) turns().release();
  }
  [[nodiscard]] bool has_come() const { return has_it_; }

 private:
  static std::counting_semaphore<>& turns() {
    // Never destroyed, because abandoned threads may use it while the process ends.
    static auto* const all =
        new std::counting_semaphore<>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    return *all;
  }

  bool has_it_ = false;
};

struct Pipe {
  sys::Fd reader;
  sys::Fd writer;
};

bool make_pipe(Pipe& made) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  made = {sys::Fd(ends[0]), sys::Fd(ends[1])};
  return true;
}

// Returns our environment, changed so that tools print English and do not search the network for
// debug information.
std::vector<std::string> tool_environment() {
  std::vector<std::string> variables;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!text.starts_with("DEBUGINFOD_URLS=") && !text.starts_with("LC_ALL=")) {
      variables.emplace_back(text);
    }
  }
  variables.emplace_back("LC_ALL=C");
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the process and returns its PID, or -1 if that failed.
pid_t spawn(std::vector<std::string> argv, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&files) != 0) return -1;
  if (::posix_spawnattr_init(&attributes) != 0) return -1;
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.writer.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.writer.get(), STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t pipe_only = none;
  ::sigaddset(&pipe_only, SIGPIPE);  // we ignore it, but it must end a tool whose reader is gone
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe_only);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> environment = tool_environment();
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0].c_str(), &files, &attributes,
                                   pointers_to(argv).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return failed == 0 ? pid : -1;
}

// Returns false at the end of the stream.
bool take_output(int fd, std::string& kept, std::size_t most) {
  std::array<char, 16384> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  const std::size_t wanted = std::min(static_cast<std::size_t>(got), most - kept.size());
  kept.append(buffer.data(), wanted);
  return true;
}

// Returns false if the deadline passed before both streams ended.
bool collect_output(const Pipe& out, const Pipe& err, Deadline deadline, ToolAnswer& answer) {
  std::array<pollfd, 2> streams = {pollfd{out.reader.get(), POLLIN, 0},
                                   pollfd{err.reader.get(), POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (is_over(deadline)) return false;
    const auto wait = std::min(time_left(deadline), kLookWhetherToEnd);
    if (::poll(streams.data(), streams.size(), static_cast<int>(wait.count())) <= 0) continue;
    if (streams[0].revents != 0 && !take_output(streams[0].fd, answer.out, kMostOutput)) {
      streams[0].fd = -1;
    }
    if (streams[1].revents != 0 && !take_output(streams[1].fd, answer.err, kMostErrors)) {
      streams[1].fd = -1;
    }
  }
  return true;
}

template <class Over>
bool wait_until(const Over& over, pid_t pid, int& status) {
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (over()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Whether the group is root's, or this user's private one, which most distributions create with the
// user's number. Does not look up other members, since a directory service could take long to
// answer.
bool is_own_group(gid_t group) {
  return group == 0 || (group == ::getegid() && group == ::geteuid());
}

// Whether only root and this user can change the file or folder. Accepts folders such as /tmp, in
// which everybody may add files but not change those of others.
bool only_we_change(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) return false;
  const bool for_others = (status.st_mode & S_IWOTH) != 0 ||
                          ((status.st_mode & S_IWGRP) != 0 && !is_own_group(status.st_gid));
  if (!for_others) return true;
  return S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
}

bool only_we_change_all_of(const std::string& path) {
  for (std::size_t end = path.size(); end > 0; end = path.rfind('/', end - 1)) {
    if (!only_we_change(path.substr(0, end))) return false;
  }
  return true;
}

}  // namespace

static ToolAnswer run(const std::vector<std::string>& argv, std::chrono::milliseconds most,
                      Deadline deadline, pid_t attached_to) {
  ToolAnswer answer;
  const Turn turn(deadline);
  if (!turn.has_come()) return {.timed_out = true};
  deadline = within(most, deadline);
  Pipe out;
  Pipe err;
  if (argv.empty() || !make_pipe(out) || !make_pipe(err)) return answer;
  const pid_t pid = spawn(argv, out, err);
  if (pid < 0) return answer;
  answer.started = true;
  out.writer = sys::Fd();
  err.writer = sys::Fd();
  const bool is_whole = collect_output(out, err, deadline, answer);
  if (is_whole && wait_until([&] { return is_over(deadline); }, pid, answer.status)) return answer;
  answer.timed_out = true;
  ::kill(pid, SIGKILL);
  if (attached_to > 0) ::kill(attached_to, SIGCONT);  // now, since muster may end before the tool
  const Deadline grace = Clock::now() + kGrace;
  (void)wait_until([&] { return time_left(grace).count() == 0; }, pid, answer.status);
  return answer;
}

ToolAnswer run_tool(const std::vector<std::string>& argv, std::chrono::milliseconds most,
                    Deadline deadline) {
  return run(argv, most, deadline, 0);
}

ToolAnswer run_attached(const std::vector<std::string>& argv, pid_t pid,
                        std::chrono::milliseconds most, Deadline deadline) {
  ++attached_tools;  // before run() checks tools_must_end, so that end_tools waits for this one
  const auto before = sys::read_process_stat(pid);
  const pid_t stoppable = before && before->state != 'T' ? pid : 0;
  const ToolAnswer answer = run(argv, most, deadline, stoppable);
  const bool failed = answer.timed_out || answer.status != 0;
  const auto now = sys::read_process_stat(pid);
  const bool is_same = before && now && before->start_ticks == now->start_ticks;
  // SIGCONT also cancels a stop signal that has not reached the process yet.
  if (answer.started && failed && is_same && stoppable > 0) ::kill(pid, SIGCONT);
  --attached_tools;
  return answer;
}

void end_tools() {
  tools_must_end = true;
  const Deadline end = Clock::now() + kEndingTakes;
  while (attached_tools > 0 && time_left(end).count() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string tool_failure(const std::string& tool, const ToolAnswer& answer) {
  if (!answer.started && answer.timed_out) return "no time was left for " + tool;
  if (!answer.started) return tool + " could not be started";
  if (answer.timed_out) return tool + " did not finish in time";
  const std::string lower = lower_case(answer.err);
  if (lower.find("not permitted") != std::string::npos ||
      lower.find("permission denied") != std::string::npos) {
    return kPtraceDenied;
  }
  const std::string_view said = facts::trimmed(answer.err);
  if (said.empty()) return tool + " printed none";
  return fmt::format("{}: {}", tool,
                     printable(said.substr(0, std::min(said.find('\n'), kMostShownOfTool))));
}

bool is_trusted_program(const std::string& path) {
  if (!path.starts_with('/') || !sys::is_program(path)) return false;
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  return !error && only_we_change_all_of(path) && only_we_change_all_of(target);
}

std::string find_pyspy(pid_t pid) {
  const auto of_process = [pid](const char* name) {
    return facts::read_start(fmt::format("/proc/{}/{}", pid, name), kMostOfEnvironment)
        .value_or("");
  };
  std::vector<std::string> folders;
  const std::string cmdline = of_process("cmdline");
  const std::string program = cmdline.substr(0, cmdline.find('\0'));
  if (program.starts_with('/')) folders.push_back(program.substr(0, program.rfind('/')));
  const std::string target = link_target(fmt::format("/proc/{}/exe", pid));
  if (target.starts_with('/')) folders.push_back(target.substr(0, target.rfind('/')));
  const std::string environment = of_process("environ");
  folders.push_back(variable_in(environment, "VIRTUAL_ENV") + "/bin");
  for (const std::string& one : sys::path_folders(variable_in(environment, "PATH"))) {
    folders.push_back(one);
  }
  const char* const own_path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  for (const std::string& one : sys::path_folders(own_path == nullptr ? "" : own_path)) {
    folders.push_back(one);
  }
  for (const std::string& folder : folders) {
    const std::string candidate = folder + "/py-spy";
    if (is_trusted_program(candidate)) return candidate;
  }
  return {};
}

}  // namespace muster::inspect
