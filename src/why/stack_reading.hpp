// What the stacks of a rank's main thread say about it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/inspection.hpp"

namespace muster::why {

struct StackReading {
  enum class In {
    kUnknown,     // there is no stack, or none that says anything
    kElsewhere,   // in no operation with other ranks
    kOperation,   // waits for other ranks
    kRendezvous,  // waits for the other ranks to arrive
    kTeardown,    // leaves the job together with the others
  };
  In in = In::kUnknown;
  std::string operation = {};   // "all_reduce"; kUnnamedOperation: its name is not in the stack
  bool told_by_python = false;  // PyTorch's function in the Python stack told it
  std::string place = {};       // "train.py:57 load_shard() <- train.py:90 main()"; empty: unknown
  bool lock = false;            // waits for a lock or for another thread's message
  bool input = false;           // reads from a person
  bool leaves = false;          // its program has ended, and code that runs at the exit keeps it
  bool child = false;           // waits for a child process
  bool data_workers = false;    // waits for the worker processes of a data loader
  bool backward = false;        // computes gradients, in which DDP may wait for the others
  // The innermost frame belongs to the user's own code or to a small function of the standard
  // library, not to a library that computes.
  bool own_code_innermost = false;
  bool native = false;  // there was a native stack
  // Inside a wait of MPI, NCCL or CUDA, which may use a whole processor: that is no work.
  bool spins = false;
};

constexpr std::string_view kUnnamedOperation = "a collective";

[[nodiscard]] StackReading read_stacks(std::span<const inspect::Stack> stacks);

// "send", "MPI_Recv": with one peer rather than with a group.
[[nodiscard]] bool is_point_to_point(std::string_view operation);

// "train.py:57 load_shard()", "MPI_Recv()".
[[nodiscard]] std::string frame_text(const inspect::Frame& frame);

// The file and function of a place such as "train.py:57 load_shard", without the line.
[[nodiscard]] std::string without_line(std::string_view place);

}  // namespace muster::why
