// Finds the states in which a crash at any system call of a process leaves a folder. A seccomp
// filter stops the process and all its children (for example a shell's programs) before each call
// that changes files. So one run shows the states after a crash at each of these calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace muster::test {

struct Node {
  mode_t mode = 0;      // including the file's type
  std::string content;  // for a link: its target
  auto operator<=>(const Node&) const = default;
};

// Keyed by the path below a folder; "" is the folder itself.
using Tree = std::map<std::string, Node>;
[[nodiscard]] Tree read_tree(const std::string& folder);
// Gives a folder this content, with old modification times as long after a crash. Removes
// everything else in it.
void write_tree(const std::string& folder, const Tree& tree);

struct State {
  Tree tree;
  std::string when;
};

struct Watched {
  int status = 0;             // as returned by waitpid
  long calls = 0;             // number of counted calls
  std::vector<State> states;  // without duplicates
};

// Runs in a separate process. The result is its exit code.
using Work = std::function<int()>;

// Returns the states after each of these events, at each call:
// - kill -9 of all processes
// - kill -9 within a write, when half of it is done
// - a power failure after which only synced changes survive
// - a power failure after which names and modes survive, but only synced bytes of files. File
//   systems leave this state if they write the journal before the bytes.
[[nodiscard]] Watched watch(const std::string& folder, const Work& work);

enum class Trouble {
  none,        // no call fails, and the states after a crash are recorded
  full_disk,   // this and all later calls that need room fail with ENOSPC; a write is half done
  bad_sector,  // this call alone fails with EIO; calls that read count too
};

// Runs the work with a trouble that begins at call `at`, counted from 1.
[[nodiscard]] Watched run_in_trouble(const std::string& folder, const Work& work, Trouble trouble,
                                     long at);

// Returns the number of calls at which the trouble could begin.
[[nodiscard]] long count_calls(const std::string& folder, const Work& work, Trouble trouble);

// Testing the recovery from a state takes long, so CI tests only every kth state. With
// MUSTER_CRASH_EVERY=1 in the environment, all states are tested.
[[nodiscard]] std::size_t crash_step(std::size_t in_ci);

}  // namespace muster::test
