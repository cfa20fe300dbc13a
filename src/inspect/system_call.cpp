#include "inspect/system_call.hpp"

#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kLongestTarget = 200;
constexpr int kMostDescriptors = 1 << 24;

enum class CallKind { kRead, kWrite, kSync, kLock, kControl, kPoll, kSelect, kOther };

struct KnownCall {
  CallKind kind = CallKind::kOther;
  int x86 = -1;  // -1: x86-64 does not have the call
  int arm = -1;
  const char* words = "";
  bool fails_after_stop = false;
};

// The numbers are from the kernel's arch/x86/entry/syscalls/syscall_64.tbl and
// include/uapi/asm-generic/unistd.h.
constexpr KnownCall kKnownCalls[] = {
    {CallKind::kRead, 0, 63, "read"},
    {CallKind::kRead, 17, 67, "pread64"},
    {CallKind::kRead, 19, 65, "readv"},
    {CallKind::kRead, 295, 69, "preadv"},
    {CallKind::kRead, 327, 286, "preadv2"},
    {CallKind::kRead, 45, 207, "recvfrom"},
    {CallKind::kRead, 47, 212, "recvmsg"},
    {CallKind::kRead, 299, 243, "recvmmsg"},
    {CallKind::kRead, 217, 61, "getdents64"},
    {CallKind::kRead, 187, 213, "readahead"},
    {CallKind::kWrite, 1, 64, "write"},
    {CallKind::kWrite, 18, 68, "pwrite64"},
    {CallKind::kWrite, 20, 66, "writev"},
    {CallKind::kWrite, 296, 70, "pwritev"},
    {CallKind::kWrite, 328, 287, "pwritev2"},
    {CallKind::kWrite, 44, 206, "sendto"},
    {CallKind::kWrite, 46, 211, "sendmsg"},
    {CallKind::kWrite, 307, 269, "sendmmsg"},
    {CallKind::kWrite, 40, 71, "sendfile"},
    {CallKind::kSync, 74, 82, "fsync"},
    {CallKind::kSync, 75, 83, "fdatasync"},
    {CallKind::kSync, 277, 84, "sync_file_range"},
    {CallKind::kSync, 306, 267, "syncfs"},
    {CallKind::kSync, 77, 46, "ftruncate"},
    {CallKind::kSync, 285, 47, "fallocate"},
    {CallKind::kLock, 73, 32, "flock"},
    {CallKind::kControl, 72, 25, "fcntl"},
    {CallKind::kPoll, 7, -1, "poll"},
    {CallKind::kPoll, 271, 73, "ppoll"},
    {CallKind::kSelect, 23, -1, "select"},
    {CallKind::kSelect, 270, 72, "pselect6"},
    {CallKind::kOther, 232, -1, "poll (epoll_wait)", true},
    {CallKind::kOther, 281, 22, "poll (epoll_wait)", true},
    {CallKind::kOther, 441, 441, "poll (epoll_wait)", true},
    {CallKind::kOther, 202, 98, "futex (a lock or a condition)"},
    {CallKind::kOther, 449, 449, "futex (a lock or a condition)"},
    {CallKind::kOther, 455, 455, "futex (a lock or a condition)"},
    {CallKind::kOther, 35, 101, "sleep"},
    {CallKind::kOther, 230, 115, "sleep"},
    {CallKind::kOther, 34, -1, "wait for a signal"},
    {CallKind::kOther, 130, 133, "wait for a signal"},
    {CallKind::kOther, 128, 137, "wait for a signal", true},
    {CallKind::kOther, 61, 260, "wait for a child process"},
    {CallKind::kOther, 247, 95, "wait for a child process"},
    {CallKind::kOther, 42, 203, "connect"},
    {CallKind::kOther, 43, 202, "accept"},
    {CallKind::kOther, 288, 242, "accept"},
    {CallKind::kOther, 2, -1, "open of a file"},
    {CallKind::kOther, 257, 56, "open of a file"},
    {CallKind::kOther, 437, 437, "open of a file"},
    {CallKind::kOther, 3, 57, "close of a file"},
    {CallKind::kOther, 4, -1, "stat of a file"},
    {CallKind::kOther, 6, -1, "stat of a file"},
    {CallKind::kOther, 5, 80, "stat of a file"},
    {CallKind::kOther, 262, 79, "stat of a file"},
    {CallKind::kOther, 332, 291, "stat of a file"},
    {CallKind::kOther, 137, 43, "stat of a file system"},
    {CallKind::kOther, 138, 44, "stat of a file system"},
    {CallKind::kOther, 26, 227, "write of mapped memory (msync)"},
    {CallKind::kOther, 162, 81, "write of all disks (sync)"},
    {CallKind::kOther, 16, 29, "ioctl"},
    {CallKind::kOther, 65, 193, "wait for a semaphore", true},
    {CallKind::kOther, 220, 192, "wait for a semaphore", true},
    {CallKind::kOther, 208, 4, "wait for asynchronous I/O", true},
    {CallKind::kOther, 426, 426, "wait for asynchronous I/O", true},
    {CallKind::kOther, 56, 220, "start of a process"},
    {CallKind::kOther, 58, -1, "start of a process"},
    {CallKind::kOther, 59, 221, "start of a program"},
    {CallKind::kOther, 231, 94, "exit"},
    {CallKind::kOther, 60, 93, "exit"},
};

int restart_number(Machine machine) {
  return machine == Machine::kX86 ? 219 : 128;
}

const KnownCall* known_call(int number, Machine machine) {
  for (const KnownCall& one : kKnownCalls) {
    if ((machine == Machine::kX86 ? one.x86 : one.arm) == number) return &one;
  }
  return nullptr;
}

bool is_terminal(std::string_view target) {
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
         target == "/dev/console";
}

// Returns "a socket", "/data/shard-19" or "standard input (/dev/pts/3)".
std::string object_words(std::uint64_t fd, bool reads, const TargetOf& target_of) {
  if (fd >= kMostDescriptors) return "a file";
  const std::string raw = target_of(static_cast<int>(fd));
  std::string target = printable(std::string_view(raw).substr(0, kLongestTarget));
  if (target.starts_with("socket:")) target = "a socket";
  if (target.starts_with("pipe:")) target = "a pipe";
  if (target.starts_with("anon_inode:")) target = target.substr(std::string("anon_inode:").size());
  if (target.empty()) target = "a file";
  if (reads && (fd == 0 || is_terminal(target))) return fmt::format("standard input ({})", target);
  return target;
}

bool waits_for_lock(std::uint64_t command) {
  constexpr std::uint64_t kSetLockAndWait = 7;  // F_SETLKW
  constexpr std::uint64_t kSetOpenFileLockAndWait = 38;
  return command == kSetLockAndWait || command == kSetOpenFileLockAndWait;
}

// Describes a call that the kernel has restarted after a stop. Only sleeps, polls and waits for a
// futex are restarted in this way.
std::string restarted_words(std::string_view waits_in) {
  if (waits_in.find("nanosleep") != std::string_view::npos) return "sleep";
  if (waits_in.find("futex") != std::string_view::npos) return "futex (a lock or a condition)";
  if (waits_in.find("poll") != std::string_view::npos) return "poll";
  return "sleep or poll";
}

}  // namespace

std::optional<SystemCall> parse_system_call(std::string_view text) {
  const auto columns = facts::words(text);
  if (columns.size() < 7) return std::nullopt;  // "running" and "-1 SP PC" have fewer columns
  const auto call_number = facts::number<int>(columns[0]);
  if (!call_number || *call_number < 0) return std::nullopt;
  SystemCall call{.number = *call_number};
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string_view column = columns[i + 1];
    if (!column.starts_with("0x")) return std::nullopt;
    const auto value = facts::number<std::uint64_t>(column.substr(2), 16);
    if (!value) return std::nullopt;
    call.arguments[i] = *value;
  }
  return call;
}

std::string describe(const SystemCall& call, Machine machine, const TargetOf& target_of,
                     std::string_view waits_in) {
  if (call.number == restart_number(machine)) return restarted_words(waits_in);
  const KnownCall* const known = known_call(call.number, machine);
  if (known == nullptr) return fmt::format("system call {}", call.number);
  // The argument is an int, so the upper half of the register may contain anything.
  const std::uint64_t first = call.arguments[0] & 0xFFFFFFFF;
  switch (known->kind) {
    case CallKind::kRead:
      return "read of " + object_words(first, true, target_of);
    case CallKind::kWrite:
      return "write of " + object_words(first, false, target_of);
    case CallKind::kSync:
      return fmt::format("write of {} ({})", object_words(first, false, target_of), known->words);
    case CallKind::kLock:
      return "lock of " + object_words(first, false, target_of);
    case CallKind::kControl:
      return (waits_for_lock(call.arguments[1] & 0xFFFFFFFF) ? "lock of " : "fcntl on ") +
             object_words(first, false, target_of);
    case CallKind::kPoll:  // without descriptors, it only waits
      return call.arguments[1] == 0 ? "sleep" : known->words;
    case CallKind::kSelect:
      return first == 0 ? "sleep" : fmt::format("poll ({})", known->words);
    case CallKind::kOther:
      break;
  }
  if (std::string_view(known->words) != "ioctl") return known->words;
  return "ioctl on " + object_words(first, false, target_of);
}

std::string describe_place(std::string_view waits_in) {
  // Prefixes, because the names differ slightly between kernels.
  constexpr std::pair<std::string_view, const char*> kPlaces[] = {
      {"hrtimer_nanosleep", "sleep"},
      {"do_nanosleep", "sleep"},
      {"futex_", "futex (a lock or a condition)"},
      {"do_wait", "wait for a child process"},
      {"kernel_wait", "wait for a child process"},
      {"locks_lock_inode_wait", "lock of a file"},
      {"flock_lock_inode_wait", "lock of a file"},
      {"fcntl_setlk", "lock of a file"},
      {"nlmclnt_block", "lock of a file"},
      {"nlmclnt_wait", "lock of a file"},
      {"do_poll", "poll"},
      {"poll_schedule_timeout", "poll"},
      {"do_select", "poll"},
      {"ep_poll", "poll (epoll_wait)"},
      {"do_epoll_wait", "poll (epoll_wait)"},
      {"pipe_read", "read of a pipe"},
      {"anon_pipe_read", "read of a pipe"},
      {"pipe_write", "write of a pipe"},
      {"anon_pipe_write", "write of a pipe"},
      {"pipe_wait", "read of a pipe"},
      {"wait_for_partner", "open of a file"},
      {"sk_wait_data", "read of a socket"},
      {"tcp_recvmsg", "read of a socket"},
      {"__skb_wait_for_more_packets", "read of a socket"},
      {"unix_stream_read_generic", "read of a socket"},
      {"unix_stream_data_wait", "read of a socket"},
      {"sk_stream_wait_memory", "write of a socket"},
      {"sock_alloc_send_pskb", "write of a socket"},
      {"inet_csk_accept", "accept"},
      {"inet_stream_connect", "connect"},
      {"__inet_stream_connect", "connect"},
      {"inet_wait_for_connect", "connect"},
      {"n_tty_read", "read of standard input (a terminal)"},
      {"do_sigtimedwait", "wait for a signal"},
      {"sigsuspend", "wait for a signal"}};
  for (const auto& [start, words] : kPlaces) {
    if (waits_in.starts_with(start)) return words;
  }
  return {};
}

bool fails_after_stop(const SystemCall& call, Machine machine, const HasTimeLimit& has_time_limit) {
  const KnownCall* const known = known_call(call.number, machine);
  if (known == nullptr || known->fails_after_stop) return known != nullptr;
  const std::string_view words = known->words;
  const bool receives = known->kind == CallKind::kRead || words == "accept";
  const bool sends = known->kind == CallKind::kWrite || words == "connect";
  if (!receives && !sends) return false;
  // The call has a time limit of its own.
  if (words == "recvmmsg" && call.arguments[4] != 0) return true;
  return has_time_limit(static_cast<int>(call.arguments[0]), receives ? SO_RCVTIMEO : SO_SNDTIMEO);
}

}  // namespace muster::inspect
