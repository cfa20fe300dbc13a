// What the stacks of a rank's main thread reveal. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/inspection.hpp"

namespace muster::why {

struct StackReading {
  enum class In {
    kUnknown,     // there is no stack, or none that reveals anything
    kElsewhere,   // in no operation with other ranks
    kOperation,   // waits for other ranks
    kRendezvous,  // waits for the other ranks to arrive
    kTeardown,    // leaves the job together with the others
  };
  In in = In::kUnknown;
  // For kOperation and kTeardown: "all_reduce", or kUnnamedOperation if the stack shows no name.
  std::string operation = {};
  bool told_by_python = false;  // `in` comes from one of PyTorch's functions in the Python stack
  std::string place = {};       // "train.py:57 load_shard() <- train.py:90 main()"; empty: unknown
  bool lock = false;            // waits for a lock or for another thread's message
  bool input = false;           // reads a person's input
  bool leaves = false;          // its program has ended, but code that runs at exit has not
  bool child = false;           // waits for a child process
  bool data_workers = false;    // waits for the worker processes of a data loader
  bool backward = false;        // computes gradients, in which DDP may wait for the others
  // The innermost frame belongs to the user's own code or to a small function of the standard
  // library, not to a library that computes.
  bool own_code_innermost = false;
  bool native = false;  // a native stack was available
  // The rank is inside a wait of MPI, NCCL or CUDA, which may use a whole CPU without doing any
  // work.
  bool spins = false;
};

constexpr std::string_view kUnnamedOperation = "a collective";

[[nodiscard]] StackReading read_stacks(std::span<const inspect::Stack> stacks);

// Whether the operation has a single peer instead of a group: "send", "MPI_Recv".
[[nodiscard]] bool is_point_to_point(std::string_view operation);

// For example "train.py:57 load_shard()" or "MPI_Recv()".
[[nodiscard]] std::string frame_text(const inspect::Frame& frame);

// Removes the line number from a place such as "train.py:57 load_shard".
[[nodiscard]] std::string without_line(std::string_view place);

}  // namespace muster::why
