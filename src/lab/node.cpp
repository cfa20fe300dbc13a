#include "lab/node.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_code.hpp"
#include "lab/hardware_host.hpp"
#include "lab/interfaces.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"
#include "sys/process_stat.hpp"

namespace muster::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kHostNamespaces =
    CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS;
constexpr int kSwitchNamespaces = CLONE_NEWNET | CLONE_NEWPID;
constexpr auto kSshdDeadline = std::chrono::seconds(60);
constexpr auto kStartDeadline = std::chrono::seconds(60);
constexpr auto kPollInterval = milliseconds(5);

// "PID START\n", which identifies a process even if its PID is reused. Empty if there is no such
// process, or if it is a zombie.
std::string process_line(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  return stat && !stat->ended() ? fmt::format("{} {}\n", pid, stat->start_ticks) : "";
}

std::string pid_file(std::string_view lab, std::string_view node) {
  return host_folder(lab, node) + "/pid";
}

// Forks into new namespaces, whose first process is the child.
pid_t clone_into(int namespaces) {
  return static_cast<pid_t>(
      ::syscall(SYS_clone, static_cast<unsigned long>(namespaces | SIGCHLD), 0, 0, 0, 0));
}

Result<void> pivot_into(const std::string& root) {
  // With "." for both, the old root is mounted over the new one and then unmounted.
  if (::chdir(root.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
    return unexpected(system_error("cannot enter the host's root", root));
  }
  return {};
}

// Releases the terminal or pipe of our caller, which would stay open as long as the lab exists.
void detach_from_terminal() {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  if (null > 2) ::close(null);
  ::setsid();
}

// Opens the program for the first process of a node. It is static and opened before the host's root
// hides it, so it runs whatever that root contains.
Result<sys::Fd> open_init() {
  const auto path = sys::find_program("tini-static");
  sys::Fd init(path ? ::open(path->c_str(), O_RDONLY | O_CLOEXEC) : -1);
  if (!init.valid()) return unexpected(system_error("cannot open tini-static"));
  return init;
}

[[noreturn]] void exec_init(const std::string& lab, int init, std::vector<const char*> argv) {
  detach_from_terminal();
  // The lab must not keep files or the working directory of our caller in use. The lock is held
  // until exec.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  (void)!::chdir("/");
  const std::string marked = mark(lab);
  const char* env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME=/root", marked.c_str(), nullptr};
  argv.insert(argv.begin(), {"tini", "--"});
  argv.push_back(nullptr);
  // From here on, `down` finds this process by the mark in its environment, so it need not die with
  // its parent.
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::fexecve(init, const_cast<char* const*>(argv.data()), const_cast<char* const*>(env));
  ::_exit(kExitNotFound);
}

// Removes the limit of locked memory, as on hosts with RDMA; sshd passes its limits on to logins.
// If the lab runs in a container that may not raise the limit, it stays as it is.
void allow_locked_memory() {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  (void)::setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

Result<void> become_host(const Spec& spec, int host, int go) {
  const std::string name = host_name(host);
  if (::sethostname(name.c_str(), name.size()) != 0) {
    return unexpected(system_error("cannot set the host name"));
  }
  if (!spec.like.empty() && host != 0) allow_locked_memory();
  MUSTER_CHECK(replay(plan_root(spec, host), mark(spec.name)));
  MUSTER_CHECK(pivot_into(host_folder(spec.name, name) + "/root"));
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(1);  // our parent has died before it connected the cables
  MUSTER_CHECK(bring_up("lo", {}));
  for (int nic = 0; nic < spec.nics; ++nic) {
    MUSTER_CHECK(bring_up(nic_name(spec, host, nic), addresses(spec, host, nic)));
  }
  for (const RailInterface& rail : rails_of(spec, host)) {
    if (rail.up) MUSTER_CHECK(bring_up(rail.interface, rail.addresses()));
  }
  return boot_hardware(spec, host);
}

struct Pipe {
  sys::Fd read;
  sys::Fd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(system_error("cannot make a pipe"));
  return Pipe{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

// Everything that a host's first process does before exec. Sends errors through `report`.
[[noreturn]] void host_main(const Spec& spec, int host, int init, Pipe& go, Pipe& report) {
  // Until exec, the host dies with its parent, so that a killed `up` leaves no half-made hosts.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  go.write = sys::Fd();  // otherwise reading `go` would not end when our parent dies
  if (auto ready = become_host(spec, host, go.read.get()); !ready) {
    const std::string text = fmt::format("{}: {}\n", host_name(host), to_text(ready.error()));
    (void)!::write(report.write.get(), text.data(), text.size());
    ::_exit(1);
  }
  exec_init(spec.name, init, {"/usr/sbin/sshd", "-D", "-E", "/var/log/sshd.log"});
}

// Reads to the end, which comes when every process that holds the other end has executed its
// program or ended.
Result<std::string> read_all(int fd) {
  std::string text;
  char buffer[4096];
  const auto deadline = steady_clock::now() + kStartDeadline;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&event, 1, static_cast<int>(left.count())) == 0) {
      return unexpected(
          Error{.code = ErrorCode::kTimeout, .what = "a host of the lab does not start"});
    }
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unexpected(system_error("cannot read from a starting host"));
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<std::vector<Cable>> clone_hosts(const Spec& spec, std::span<const int> hosts, Pipe& go,
                                       Pipe& report) {
  MUSTER_TRY(const sys::Fd init, open_init());
  std::vector<Cable> cables;
  for (const int host : hosts) {
    const pid_t pid = clone_into(kHostNamespaces);
    if (pid < 0) return unexpected(system_error("cannot make a host's namespaces"));
    if (pid == 0) host_main(spec, host, init.get(), go, report);
    MUSTER_CHECK(record_process(pid_file(spec.name, host_name(host)), pid));
    cables.push_back({host, pid});
  }
  return cables;
}

}  // namespace

Result<void> record_process(const std::string& file, pid_t pid) {
  return sys::write_file(file, process_line(pid), 0644);
}

std::optional<pid_t> recorded_process(const std::string& file) {
  const auto text = sys::read_file(file);
  if (!text) return std::nullopt;
  pid_t pid = 0;
  const auto [end, bad] = std::from_chars(text->data(), text->data() + text->size(), pid);
  if (bad != std::errc() || pid <= 0) return std::nullopt;
  if (process_line(pid) != *text) return std::nullopt;
  return pid;
}

std::optional<pid_t> node_pid(std::string_view lab, std::string_view node) {
  return recorded_process(pid_file(lab, node));
}

Result<pid_t> first_process(const Spec& spec, std::string_view node) {
  if (const auto pid = node_pid(spec.name, node)) return *pid;
  return unexpected(Error{.code = ErrorCode::kUnreachable,
                          .what = "the host is down",
                          .where = {.host = std::string(node)},
                          .hint = fmt::format("run: muster lab restart {}", node)});
}

std::vector<std::string> in_network_of(pid_t pid, std::vector<std::string> words) {
  words.insert(words.begin(), {"nsenter", fmt::format("--net=/proc/{}/ns/net", pid)});
  return words;
}

namespace {

Result<sys::Ended> ip_in_switch(std::string_view lab, const std::string& lines, bool force) {
  const auto pid = node_pid(lab, kSwitch);
  if (!pid) {
    return unexpected(Error{.what = "the lab's network switch is not running",
                            .hint = "create the lab again: muster lab down, then muster lab up"});
  }
  std::vector<std::string> words = {"ip", "-batch", "-"};
  if (force) words.insert(words.begin() + 1, "-force");
  const sys::Command command{.argv = in_network_of(*pid, std::move(words)),
                             .env = {mark(lab)},
                             .input = std::make_shared<const std::string>(lines)};
  return sys::run(command);
}

}  // namespace

Result<void> in_switch(std::string_view lab, const std::string& ip_lines) {
  MUSTER_TRY(const sys::Ended ended, ip_in_switch(lab, ip_lines, false));
  if (ended.ok()) return {};
  return unexpected(Error{.what = fmt::format("cannot set up the lab's network: {}", ended.err)});
}

void try_in_switch(std::string_view lab, const std::string& ip_lines) {
  (void)ip_in_switch(lab, ip_lines, true);
}

Result<void> start_switch(const Spec& spec) {
  MUSTER_CHECK(sys::make_folders(host_folder(spec.name, kSwitch), 0755));
  MUSTER_TRY(Pipe started, make_pipe());
  MUSTER_TRY(const sys::Fd init, open_init());
  const pid_t pid = clone_into(kSwitchNamespaces);
  if (pid < 0) return unexpected(system_error("cannot make the switch's namespaces"));
  if (pid == 0) exec_init(spec.name, init.get(), {"sleep", "infinity"});
  started.write = sys::Fd();
  // Returns when the child has executed its program.
  MUSTER_TRY(const std::string nothing, read_all(started.read.get()));
  MUSTER_CHECK(record_process(pid_file(spec.name, kSwitch), pid));
  return in_switch(spec.name, plan_bridges(spec));
}

Result<unsigned long> wait_for_sshd(pid_t host, unsigned long old_socket) {
  const auto deadline = steady_clock::now() + kSshdDeadline;
  while (true) {
    const unsigned long socket = listening_socket(host, 22);
    if (socket != 0 && socket != old_socket) return socket;
    if (process_line(host).empty()) {
      return unexpected(Error{.what = "the host stopped while its sshd was starting"});
    }
    if (steady_clock::now() > deadline) {
      return unexpected(Error{.code = ErrorCode::kTimeout, .what = "its sshd does not listen"});
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Result<void> start_hosts(const Spec& spec, std::span<const int> hosts) {
  MUSTER_TRY(Pipe go, make_pipe());
  MUSTER_TRY(Pipe report, make_pipe());
  MUSTER_TRY(const std::vector<Cable> cables, clone_hosts(spec, hosts, go, report));
  report.write = sys::Fd();
  MUSTER_CHECK(in_switch(spec.name, plan_cables(spec, cables)));
  for (std::size_t i = 0; i < cables.size(); ++i) {
    if (::write(go.write.get(), "g", 1) != 1)
      return unexpected(system_error("a host of the lab stopped while it was starting"));
  }
  // Returns when every host has executed its program or failed.
  MUSTER_TRY(const std::string complaints, read_all(report.read.get()));
  if (!complaints.empty()) {
    return unexpected(Error{.what = fmt::format("a host could not start: {}",
                                                complaints.substr(0, complaints.find('\n')))});
  }
  for (const Cable& cable : cables) {
    auto listens = wait_for_sshd(cable.pid, 0);
    if (!listens) {
      listens.error().where.host = host_name(cable.host);
      return unexpected(listens.error());
    }
  }
  return {};
}

namespace {

Result<void> join_namespaces(pid_t pid, As as) {
  const bool stays_in_our_root = as == As::kNetworkRoot;
  std::vector<const char*> names = {"net", "uts", "ipc", "pid", "mnt"};
  if (stays_in_our_root) names = {"net", "pid"};
  const sys::Fd root(
      ::open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<sys::Fd> fds;
  // Open all first, because this /proc is not visible after joining "mnt".
  for (const char* name : names) {
    fds.emplace_back(
        ::open(fmt::format("/proc/{}/ns/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fds.back().valid()) return unexpected(system_error("cannot open a namespace of the host"));
  }
  for (const sys::Fd& fd : fds) {
    if (::setns(fd.get(), 0) != 0) return unexpected(system_error("cannot enter the host"));
  }
  if (stays_in_our_root) return {};
  // If the lab was started in a chroot, the root of the mount namespace is the machine's and not
  // the host's.
  if (::fchdir(root.get()) != 0 || ::chroot(".") != 0) {
    return unexpected(system_error("cannot enter the host's root"));
  }
  return {};
}

int exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code(status);
}

void become_user(const Spec& spec) {
  const gid_t group = spec.uid;
  if (::setgroups(1, &group) != 0 || ::setgid(group) != 0 || ::setuid(spec.uid) != 0)
    ::_exit(kExitCannotRun);
}

// What the process inside the node sends through a pipe to the one outside.
struct Report {
  bool failed = false;
  pid_t pid = 0;
  char text[512] = {};
};

[[noreturn]] void tell_and_leave(int fd, const Error& error) {
  Report report{.failed = true};
  to_text(error).copy(report.text, sizeof report.text - 1);
  (void)!::write(fd, &report, sizeof report);
  ::_exit(kExitCannotRun);
}

// Runs in a child of the caller. Joining a PID namespace affects only later children, and joining
// the other namespaces cannot be undone. So this process joins them, and its own child runs the
// action.
[[noreturn]] void enter_and_run(const Spec& spec, pid_t first, As as,
                                const std::function<int()>& action) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (auto joined = join_namespaces(first, as); !joined) {
    sys::print_err("muster: {}\n", to_text(joined.error()));
    ::_exit(kExitCannotRun);
  }
  const pid_t child = ::fork();
  if (child < 0) ::_exit(kExitCannotRun);
  if (child > 0) ::_exit(wait_for(child));
  if (as == As::kUser) become_user(spec);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after setuid, which clears it
  ::_exit(action());
}

[[noreturn]] void enter_and_leave(const Spec& spec, pid_t first, As as, int report_fd,
                                  const std::function<Result<void>()>& prepare,
                                  const std::function<void()>& serve) {
  if (auto joined = join_namespaces(first, as); !joined) tell_and_leave(report_fd, joined.error());
  const pid_t child = ::fork();
  if (child < 0) ::_exit(kExitCannotRun);
  if (child > 0) {
    const Report report{.pid = child};
    (void)!::write(report_fd, &report, sizeof report);
    ::_exit(0);
  }
  // This process outlives the command that started it, so it must not keep that command's lock.
  ::dup2(report_fd, 3);
  ::close_range(4, ~0U, 0);
  (void)!::chdir("/");
  if (as == As::kUser) become_user(spec);
  if (auto prepared = prepare(); !prepared) tell_and_leave(3, prepared.error());
  detach_from_terminal();
  ::close(3);
  serve();
  ::_exit(0);
}

}  // namespace

Result<int> inside(const Spec& spec, std::string_view node, As as,
                   const std::function<int()>& action) {
  MUSTER_TRY(const pid_t first, first_process(spec, node));
  const pid_t middle = ::fork();
  if (middle < 0) return unexpected(system_error("cannot start a process"));
  if (middle == 0) enter_and_run(spec, first, as, action);
  return wait_for(middle);
}

Result<pid_t> leave_inside(const Spec& spec, std::string_view node, As as,
                           const std::function<Result<void>()>& prepare,
                           const std::function<void()>& serve) {
  MUSTER_TRY(const pid_t first, first_process(spec, node));
  MUSTER_TRY(Pipe report_pipe, make_pipe());
  const pid_t middle = ::fork();
  if (middle < 0) return unexpected(system_error("cannot start a process"));
  if (middle == 0) enter_and_leave(spec, first, as, report_pipe.write.get(), prepare, serve);
  report_pipe.write = sys::Fd();
  wait_for(middle);
  MUSTER_TRY(const std::string bytes, read_all(report_pipe.read.get()));  // ends after `prepare`
  pid_t pid = 0;
  for (std::size_t at = 0; at + sizeof(Report) <= bytes.size(); at += sizeof(Report)) {
    Report report;
    std::memcpy(&report, bytes.data() + at, sizeof report);
    if (report.failed)
      return unexpected(Error{.what = report.text, .where = {.host = std::string(node)}});
    pid = report.pid;
  }
  return pid;
}

int exec_command(const Spec& spec, bool root, const std::vector<std::string>& words) {
  const std::string home = root ? "/root" : "/home/" + spec.user;
  const std::string user = root ? "root" : spec.user;
  const char* inherited = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::string terminal = inherited == nullptr ? "dumb" : inherited;
  // Sets our own environment instead of passing one to exec, because the search for the program
  // must use the host's PATH too.
  ::clearenv();
  const std::pair<const char*, std::string> environment[] = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", home},
      {"USER", user},
      {"LOGNAME", user},
      {"SHELL", "/bin/bash"},
      {"LANG", "C.UTF-8"},
      {"TERM", terminal}};
  for (const auto& [name, value] : environment) ::setenv(name, value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (::chdir(home.c_str()) != 0 && ::chdir("/") != 0) return kExitCannotRun;
  (void)std::signal(SIGPIPE, SIG_DFL);
  ::execvp(argv[0], argv.data());
  const int failed = errno;
  sys::print_err("muster: {}: {}\n", words[0], std::strerror(failed));
  return exit_code_of_exec(failed);
}

}  // namespace muster::lab
