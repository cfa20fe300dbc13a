#include "sys/crash_states.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/crash_disk.hpp"
#include "sys/local_socket.hpp"

namespace muster::test {
namespace {

constexpr int kPatienceMs =
    120'000;  // for a process that makes no system call; only a hang takes that long

enum class Kind { open, write, make, change, sync, sync_all, read };
constexpr int kNone = -1;

// `folder` and `path` are the numbers of the arguments that name the file: a folder's descriptor
// and a path, a path alone, or a descriptor alone.
struct Call {
  long number;
  const char* name;
  Kind kind;
  int folder;
  int path;
};

constexpr Call kCalls[] = {
#ifdef SYS_open
    {SYS_open, "open", Kind::open, kNone, 0},
    {SYS_creat, "creat", Kind::open, kNone, 0},
    {SYS_rename, "rename", Kind::change, kNone, 1},
    {SYS_link, "link", Kind::make, kNone, 1},
    {SYS_symlink, "symlink", Kind::make, kNone, 1},
    {SYS_mkdir, "mkdir", Kind::make, kNone, 0},
    {SYS_rmdir, "rmdir", Kind::change, kNone, 0},
    {SYS_unlink, "unlink", Kind::change, kNone, 0},
    {SYS_chmod, "chmod", Kind::change, kNone, 0},
    {SYS_renameat, "renameat", Kind::change, 2, 3},
#endif
    {SYS_openat, "openat", Kind::open, 0, 1},
    {SYS_renameat2, "renameat2", Kind::change, 2, 3},
    {SYS_linkat, "linkat", Kind::make, 2, 3},
    {SYS_symlinkat, "symlinkat", Kind::make, 1, 2},
    {SYS_mkdirat, "mkdirat", Kind::make, 0, 1},
    {SYS_unlinkat, "unlinkat", Kind::change, 0, 1},
    {SYS_fchmodat, "fchmodat", Kind::change, 0, 1},
    {SYS_fchmod, "fchmod", Kind::change, 0, kNone},
    {SYS_truncate, "truncate", Kind::change, kNone, 0},
    {SYS_ftruncate, "ftruncate", Kind::change, 0, kNone},
    {SYS_write, "write", Kind::write, 0, kNone},
    {SYS_pwrite64, "pwrite", Kind::write, 0, kNone},
    {SYS_writev, "writev", Kind::write, 0, kNone},
    {SYS_fsync, "fsync", Kind::sync, 0, kNone},
    {SYS_fdatasync, "fdatasync", Kind::sync, 0, kNone},
    {SYS_syncfs, "syncfs", Kind::sync_all, 0, kNone},
    {SYS_sync, "sync", Kind::sync_all, kNone, kNone},
    {SYS_read, "read", Kind::read, 0, kNone},
};

// Calls that copy within the kernel. They fail, so that programs read and write instead.
constexpr long kRefused[] = {SYS_copy_file_range, SYS_sendfile};

sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<__u16>(code), 0, 0, value};
}

void answer(std::vector<sock_filter>& filter, unsigned value, unsigned result) {
  filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value});
  filter.push_back(statement(BPF_RET | BPF_K, result));
}

std::vector<sock_filter> make_filter(bool with_reads) {
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS;
  std::vector<sock_filter> filter = {statement(kLoad, offsetof(seccomp_data, nr))};
  for (const Call& call : kCalls) {
    if (call.kind == Kind::read && !with_reads) continue;
    answer(filter, static_cast<unsigned>(call.number), SECCOMP_RET_USER_NOTIF);
  }
  for (const long call : kRefused) {
    answer(filter, static_cast<unsigned>(call), SECCOMP_RET_ERRNO | EINVAL);
  }
  filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_ioctl});
  filter.push_back(statement(kLoad, offsetof(seccomp_data, args[1])));
  answer(filter, FICLONE, SECCOMP_RET_ERRNO | EOPNOTSUPP);
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// Runs in the new process. Sends the listener as a message, because a write would already wait for
// an answer.
void hand_over_listener(int socket, bool with_reads) {
  std::vector<sock_filter> filter = make_filter(with_reads);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int listener = static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  if (listener < 0) ::_exit(1);
  sys::send_descriptors(socket, std::array{listener});
  ::close(listener);
}

sys::Fd take_listener(int socket) {
  char byte = 0;
  std::vector<sys::Fd> taken;
  (void)sys::read_with_descriptors(socket, {&byte, 1}, taken);
  if (taken.empty()) throw std::runtime_error("this kernel lets no process watch system calls");
  return std::move(taken.front());
}

std::string link_of(pid_t pid, const std::string& name) {
  std::array<char, 4096> path{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/{}/{}", pid, name).c_str(), path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
}

std::string memory_of(pid_t pid, std::uint64_t address, std::size_t bytes) {
  const sys::Fd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), bytes, static_cast<off_t>(address));
  text.resize(static_cast<std::size_t>(got < 0 ? 0 : got));
  return text;
}

// A call of a process that waits for our answer.
struct Stop {
  const Call& call;
  const seccomp_notif& notice;

  [[nodiscard]] pid_t pid() const { return static_cast<pid_t>(notice.pid); }
  [[nodiscard]] std::uint64_t arg(int number) const { return notice.data.args[number]; }
  [[nodiscard]] std::string descriptor(int argument) const {
    const int fd = static_cast<int>(arg(argument));
    return fd == AT_FDCWD ? link_of(pid(), "cwd") : link_of(pid(), fmt::format("fd/{}", fd));
  }
  [[nodiscard]] std::string path() const {
    if (call.path == kNone) return call.folder == kNone ? "" : descriptor(call.folder);
    const std::string path = memory_of(pid(), arg(call.path), 4096).c_str();
    if (path.starts_with('/')) return path;
    return (call.folder == kNone ? link_of(pid(), "cwd") : descriptor(call.folder)) + "/" + path;
  }
  [[nodiscard]] int open_flags() const {
    if (call.name == std::string_view("creat")) return O_CREAT | O_TRUNC | O_WRONLY;
    return static_cast<int>(arg(call.path + 1));
  }
  [[nodiscard]] std::string first_half() const {
    std::uint64_t from = arg(1);
    std::uint64_t bytes = arg(2);
    if (call.number == SYS_writev) {
      iovec first{};
      memory_of(pid(), from, sizeof first).copy(reinterpret_cast<char*>(&first), sizeof first);
      from = reinterpret_cast<std::uint64_t>(first.iov_base);
      bytes = first.iov_len;
    }
    return memory_of(pid(), from, bytes / 2);
  }
  // Returns the position at which the write begins.
  [[nodiscard]] std::size_t position(std::size_t file_bytes) const {
    if (call.number == SYS_pwrite64) return arg(3);
    const auto text = sys::read_file(fmt::format("/proc/{}/fdinfo/{}", pid(), arg(0)));
    unsigned long position = 0;
    unsigned flags = 0;
    if (std::sscanf(text.value_or("").c_str(), "pos: %lu flags: %o", &position, &flags) != 2) {
      return 0;
    }
    return (flags & O_APPEND) != 0 ? file_bytes : position;
  }
};

class Watcher {
 public:
  Watcher(std::string folder, Trouble trouble, long at)
      : folder_(std::move(folder)), trouble_(trouble), at_(at), disk_(folder_) {}

  Watched run(const Work& work);

 private:
  void serve(int listener, int process);
  [[nodiscard]] int judge(const Stop& stop);  // 0, or the error with which the call must fail
  [[nodiscard]] bool counts(const Stop& stop, const std::string& path) const;
  [[nodiscard]] bool needs_room(const Stop& stop, const std::string& path) const;
  [[nodiscard]] std::string torn(const Stop& stop, const std::string& content) const;
  void add_states(const Stop& stop, const std::string& path);
  void add(Tree tree, const std::string& when);

  std::string folder_;
  Trouble trouble_;
  long at_;
  CrashDisk disk_;
  std::set<Tree> known_;
  Watched result_;
};

Watched Watcher::run(const Work& work) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw std::runtime_error("socketpair");
  }
  const sys::Fd ours(sockets[0]);
  sys::Fd theirs(sockets[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::setpgid(0, 0);
    hand_over_listener(theirs.get(), trouble_ == Trouble::bad_sector);
    ::_exit(work());
  }
  theirs = sys::Fd();
  const sys::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  {
    const sys::Fd listener = take_listener(ours.get());
    serve(listener.get(), process.get());
  }
  (void)::kill(-child, SIGKILL);  // processes are left only after a hang
  (void)::waitpid(child, &result_.status, 0);
  if (trouble_ == Trouble::none) {
    disk_.look();
    add(disk_.synced(), "power failure after the end, without what was not synced");
    add(disk_.with_synced_bytes(), "power failure after the end, without bytes not synced");
  }
  return std::move(result_);
}

void Watcher::serve(int listener, int process) {
  std::array<pollfd, 2> waited = {pollfd{listener, POLLIN, 0}, pollfd{process, POLLIN, 0}};
  while (::poll(waited.data(), waited.size(), kPatienceMs) > 0) {
    if ((waited[0].revents & POLLIN) == 0) return;  // all processes have ended
    seccomp_notif notice{};
    // Fails if the process was killed before its call could be received.
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) continue;
    seccomp_notif_resp response{};
    response.id = notice.id;
    for (const Call& call : kCalls) {
      if (call.number == notice.data.nr) response.error = -judge({call, notice});
    }
    if (response.error == 0) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
}

bool Watcher::counts(const Stop& stop, const std::string& path) const {
  if (stop.call.kind == Kind::sync_all) return true;
  if (path != folder_ && !path.starts_with(folder_ + "/")) return false;
  const bool reads = stop.call.kind == Kind::open && (stop.open_flags() & (O_CREAT | O_TRUNC)) == 0;
  return !reads || trouble_ == Trouble::bad_sector;
}

bool Watcher::needs_room(const Stop& stop, const std::string& path) const {
  switch (stop.call.kind) {
    case Kind::open:
      return !sys::exists(path);
    case Kind::write:
    case Kind::make:
    case Kind::sync:
      return true;
    default:
      return false;
  }
}

std::string Watcher::torn(const Stop& stop, const std::string& content) const {
  const std::string half = stop.first_half();
  const std::size_t at = stop.position(content.size());
  std::string result = content;
  result.resize(std::max(content.size(), at + half.size()));
  return result.replace(at, half.size(), half);
}

int Watcher::judge(const Stop& stop) {
  const std::string path = stop.path();
  if (!counts(stop, path)) return 0;
  ++result_.calls;
  if (trouble_ == Trouble::bad_sector) return result_.calls == at_ ? EIO : 0;
  if (trouble_ == Trouble::full_disk) {
    if (result_.calls < at_ || !needs_room(stop, path)) return 0;
    if (stop.call.kind == Kind::write) {
      const std::string text = torn(stop, sys::read_file(path).value_or(""));
      const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      (void)sys::write_all(file.get(), text);
    }
    return ENOSPC;
  }
  add_states(stop, path == folder_ ? "" : path.substr(std::min(path.size(), folder_.size() + 1)));
  return 0;
}

void Watcher::add_states(const Stop& stop, const std::string& path) {
  disk_.look();
  const std::string when = fmt::format("at call {}, {} of {}", result_.calls, stop.call.name, path);
  add(disk_.in_memory(), "killed " + when);
  add(disk_.synced(), "power failure without what was not synced " + when);
  add(disk_.with_synced_bytes(), "power failure without bytes not synced " + when);
  if (stop.call.kind == Kind::write) {
    Tree tree = disk_.in_memory();
    tree[path].content = torn(stop, tree[path].content);
    add(std::move(tree), "torn " + when);
  }
  if (stop.call.kind == Kind::sync) disk_.sync(path);
  if (stop.call.kind == Kind::sync_all) disk_.sync_all();
}

void Watcher::add(Tree tree, const std::string& when) {
  if (known_.insert(tree).second) result_.states.push_back({std::move(tree), when});
}

}  // namespace

Watched watch(const std::string& folder, const Work& work) {
  return Watcher(folder, Trouble::none, 0).run(work);
}

long count_calls(const std::string& folder, const Work& work, Trouble trouble) {
  return Watcher(folder, trouble, std::numeric_limits<long>::max()).run(work).calls;
}

std::size_t crash_step(std::size_t in_ci) {
  const char* wanted = std::getenv("MUSTER_CRASH_EVERY");  // NOLINT(concurrency-mt-unsafe)
  return wanted == nullptr ? in_ci : std::stoul(wanted);
}

Watched run_in_trouble(const std::string& folder, const Work& work, Trouble trouble, long at) {
  return Watcher(folder, trouble, at).run(work);
}

}  // namespace muster::test
