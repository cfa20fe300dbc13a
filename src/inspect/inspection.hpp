// What the processes of a run's ranks on one host are doing: the evidence from which `why` decides
// why a job makes no progress. inspect() gathers it without stopping the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace muster::inspect {

// A frame of a stack. Stacks begin with the innermost frame.
struct Frame {
  std::string function;
  std::string file = {};  // empty if unknown, as for native code
  int line = 0;           // 0: unknown

  friend bool operator==(const Frame&, const Frame&) = default;
};

// The stack of the main thread.
struct Stack {
  std::string source;  // "py-spy", "dump_traceback", "eu-stack"
  bool python = false;
  std::vector<Frame> frames = {};

  friend bool operator==(const Stack&, const Stack&) = default;
};

// A collective, as the rank recorded it.
struct Operation {
  std::string name;         // such as "all_reduce"
  std::int64_t number = 0;  // number in its group, from 1
  std::string sizes = {};   // sizes of the inputs: "[[1000], [3, 4]]"; empty: none or unknown
  std::string types = {};   // "float32"
  double age_s = 0;         // time since it began
  double timeout_s = 0;     // after this time the rank gives up; 0: unknown
  bool done = false;

  friend bool operator==(const Operation&, const Operation&) = default;
};

// A process group, as this rank knows it.
struct Group {
  std::string name;              // equal on all members of the group
  std::string description = {};  // "default_pg"
  std::string backend = {};      // "gloo", "mpi", "nccl"
  std::vector<int> ranks = {};   // global ranks of its members; empty: unknown
  std::int64_t begun = 0;        // number of collectives that have begun
  std::int64_t done = 0;
  std::int64_t begun_before = 0;  // like `begun`, at the start of the inspection
  std::int64_t done_before = 0;
  double longest_gap_s = 0;  // longest time between the starts of two consecutive collectives
  // The latest kMostOperations operations and, of the earlier ones, those that are not completed.
  // The oldest come first.
  std::vector<Operation> operations = {};

  friend bool operator==(const Group&, const Group&) = default;
};
constexpr std::size_t kMostOperations = 24;

// A TCP connection of a rank's processes.
struct Connection {
  std::string local = {};  // addresses in the usual notation
  int local_port = 0;
  std::string peer = {};
  int peer_port = 0;
  std::string state = {};          // "established", "syn-sent", ...
  std::uint64_t unsent = 0;        // bytes that the peer has not acknowledged
  std::uint64_t unread = 0;        // bytes that the rank has not read
  int retransmits = 0;             // failed attempts to send the same data
  std::int64_t retransmitted = 0;  // segments sent again during the inspection
  double since_ack_s = 0;          // seconds since the last acknowledgement; 0: unknown
  std::int64_t moved = 0;          // bytes received or acknowledged during the inspection
  double busy = 0;                 // share of the inspection with unacknowledged data
  double round_trip_s = 0;

  friend bool operator==(const Connection&, const Connection&) = default;
};

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string command = {};   // "python train.py", shortened
  std::string state = "X";    // as in /proc/PID/stat; X: ended, Z: ended but not reaped
  std::string waits_in = {};  // kernel function in which it waits; empty: unknown
  // Describes the system call in which the main thread waits; empty if there is none or if it is
  // unknown. It begins with "read of ", "write of " (also for fsync and msync), "lock of ", "fcntl
  // on ", "ioctl on ", "open of ", "close of ", "stat of ", "futex", "sleep", "poll" (also for
  // select and epoll), "wait for a child process", "wait for a signal", "wait for a semaphore",
  // "wait for asynchronous I/O", "connect", "accept", "start of " or "exit", or is "system call
  // 123". An object is a path, "a file" if it is unknown, "a socket", "a pipe" or "standard input
  // (/dev/pts/3)". The holder of a lock may follow: "lock of /tmp/lock, held by process 1234".
  std::string call = {};
  double cpu = 0;  // CPUs used during the inspection
  // Bytes read and written during the inspection, as /proc/PID/io counts them (by calls and on
  // disks), plus one page per page fault that waited for a file.
  std::int64_t io_bytes = 0;

  friend bool operator==(const Process&, const Process&) = default;
};

struct RankView {
  int rank = 0;
  // The main process, not a shell that started it. 0: it has ended.
  pid_t pid = 0;
  std::vector<Process> processes = {};  // all processes of the rank, parents first
  std::vector<Stack> stacks = {};       // stacks of the main process; Python stacks first
  // The main process's native stack at the start of the inspection; empty if not taken, as for
  // Python.
  std::vector<Frame> first_frames = {};
  // The innermost frame of the user's Python code in several samples, such as "train.py:57
  // load_shard". Distinguishes a loop from a wait.
  std::vector<std::string> places = {};
  // Whether the second look was taken in time. If not, values that need two looks (CPU time,
  // collectives) show no progress.
  bool watched = false;
  bool recorded = false;  // whether the program reported its collectives
  // How many samples of the collectives were taken, and in how many of them one was running.
  int samples = 0;
  int samples_in_collectives = 0;
  std::vector<Group> groups = {};
  std::vector<Connection> connections = {};
  std::vector<std::string> not_seen = {};  // such as "no native stack: ptrace is not permitted"

  friend bool operator==(const RankView&, const RankView&) = default;
};

// A counter of a network interface or an RDMA port, and its change during the inspection.
struct Counter {
  std::string device;  // "mlx5_0/1", "eth0"
  std::string name;    // "symbol_error"
  std::int64_t value = 0;
  std::int64_t change = 0;

  friend bool operator==(const Counter&, const Counter&) = default;
};

struct HostView {
  double time_s = 0;    // Unix time on the host
  double window_s = 0;  // how long the ranks were watched
  std::vector<RankView> ranks = {};
  std::vector<std::string> addresses = {};  // addresses of the host
  std::vector<int> listening = {};          // ports on which the ranks' processes listen
  int processors = 0;
  // Average number of runnable processes in the last minute.
  double load = 0;
  std::vector<std::string> full_disks = {};  // "/ (0 bytes left)"
  // Counters of network interfaces and RDMA ports that indicate problems.
  std::vector<Counter> counters = {};
  std::string nccl = {};  // what NCCL's RAS reports about the job; several lines
  std::vector<std::string> not_seen = {};

  friend bool operator==(const HostView&, const HostView&) = default;
};

}  // namespace muster::inspect
