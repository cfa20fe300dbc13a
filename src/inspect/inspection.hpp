// What the processes of a run's ranks on one host are doing: the evidence from which `why` decides
// why a job does not move. Gathered by inspect(), without stopping the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace muster::inspect {

// Of a stack; innermost first.
struct Frame {
  std::string function;
  std::string file = {};  // empty: unknown, as for native code
  int line = 0;           // 0: unknown

  friend bool operator==(const Frame&, const Frame&) = default;
};

// Of the main thread.
struct Stack {
  std::string source;  // "py-spy", "dump_traceback", "eu-stack"
  bool python = false;
  std::vector<Frame> frames = {};

  friend bool operator==(const Stack&, const Stack&) = default;
};

// A collective, as the rank itself recorded it.
struct Operation {
  std::string name;         // "all_reduce"
  std::int64_t number = 0;  // in its group, from 1
  std::string sizes = {};   // "[[1000], [3, 4]]" of the inputs; empty: none or unknown
  std::string types = {};   // "float32"
  double age_s = 0;         // since it was begun
  double timeout_s = 0;     // after which the rank gives it up; 0: unknown
  bool done = false;

  friend bool operator==(const Operation&, const Operation&) = default;
};

// A process group, as this rank sees it.
struct Group {
  std::string name;              // the same on all members
  std::string description = {};  // "default_pg"
  std::string backend = {};      // "gloo", "mpi", "nccl"
  std::vector<int> ranks = {};   // members, as ranks of the job; empty: unknown
  std::int64_t begun = 0;        // collectives, so far
  std::int64_t done = 0;
  std::int64_t begun_before = 0;  // when the inspection began
  std::int64_t done_before = 0;
  double longest_gap_s = 0;  // between the begins of two collectives that follow each other
  // The latest ones, oldest first: at most kMostOperations, and whatever is not done.
  std::vector<Operation> operations = {};

  friend bool operator==(const Group&, const Group&) = default;
};
constexpr std::size_t kMostOperations = 24;

// A TCP connection of a rank's processes.
struct Connection {
  std::string local = {};  // addresses, as people write them
  int local_port = 0;
  std::string peer = {};
  int peer_port = 0;
  std::string state = {};          // "established", "syn-sent", ...
  std::uint64_t unsent = 0;        // bytes written by the rank that the peer has not acknowledged
  std::uint64_t unread = 0;        // bytes received that the rank has not read
  int retransmits = 0;             // of the same data, so far in vain
  std::int64_t retransmitted = 0;  // segments, during the inspection
  double since_ack_s = 0;          // since the last acknowledgement; 0: unknown
  std::int64_t moved = 0;          // bytes that came or were acknowledged during the inspection
  double busy = 0;                 // share of the inspection with unacknowledged data
  double round_trip_s = 0;

  friend bool operator==(const Connection&, const Connection&) = default;
};

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string command = {};   // "python train.py", shortened
  std::string state = "X";    // as in /proc/PID/stat; X: it has ended, Z: nobody waits for it
  std::string waits_in = {};  // the kernel's name for it; empty: not told
  // The system call in which the main thread waits, in words; empty: none or not told. It begins
  // with "read of ", "write of " (also of fsync and msync), "lock of ", "fcntl on ", "ioctl on ",
  // "open of ", "close of ", "stat of ", "futex", "sleep", "poll" (also of select and epoll),
  // "wait for a child process", "wait for a signal", "wait for a semaphore", "wait for asynchronous
  // I/O", "connect", "accept", "start of ", "exit", or is "system call 123". An object is a path,
  // "a file" if it is not told, "a socket", "a pipe" or "standard input (/dev/pts/3)". A lock may
  // be followed by its holder: "lock of /tmp/lock, held by process 1234".
  std::string call = {};
  double cpu = 0;  // processors used during the inspection
  // Read and written during the inspection: through calls and disks, as /proc/PID/io counts, and a
  // page for each page fault that had to wait for a file.
  std::int64_t io_bytes = 0;

  friend bool operator==(const Process&, const Process&) = default;
};

struct RankView {
  int rank = 0;
  pid_t pid = 0;                        // the main process: not a shell around it; 0: none is left
  std::vector<Process> processes = {};  // all of the rank, parents first
  std::vector<Stack> stacks = {};       // of the main process; Python before native
  // Of its native stack when the inspection began; empty: not taken, as for Python.
  std::vector<Frame> first_frames = {};
  // Where the innermost frame of the user's own Python code was in quick succession:
  // "train.py:57 load_shard". For telling a loop from a wait.
  std::vector<std::string> places = {};
  // The second look came in time. If not, what changes (CPU time, collectives) seems to stand
  // still.
  bool watched = false;
  bool recorded = false;  // the program told its collectives
  // How often its collectives were looked at, and in how many of these it was in one.
  int samples = 0;
  int samples_in_collectives = 0;
  std::vector<Group> groups = {};
  std::vector<Connection> connections = {};
  std::vector<std::string> not_seen = {};  // "no native stack: ptrace is not permitted"

  friend bool operator==(const RankView&, const RankView&) = default;
};

// What a counter of a network port or an RDMA device did during the inspection.
struct Counter {
  std::string device;  // "mlx5_0/1", "eth0"
  std::string name;    // "symbol_error"
  std::int64_t value = 0;
  std::int64_t change = 0;

  friend bool operator==(const Counter&, const Counter&) = default;
};

struct HostView {
  double time_s = 0;    // Unix time there
  double window_s = 0;  // how long the ranks were watched
  std::vector<RankView> ranks = {};
  std::vector<std::string> addresses = {};  // of the host
  std::vector<int> listening = {};          // ports on which the ranks' processes listen
  int processors = 0;
  double load = 0;                           // runnable processes, average of the last minute
  std::vector<std::string> full_disks = {};  // "/ (0 bytes left)"
  std::vector<Counter> counters = {};  // of RDMA ports: those that changed and tell of trouble
  std::string nccl = {};               // what NCCL's RAS says of the job; several lines
  std::vector<std::string> not_seen = {};

  friend bool operator==(const HostView&, const HostView&) = default;
};

}  // namespace muster::inspect
