// What a crash at any system call of a process leaves in a folder. A seccomp filter stops the
// process and all that it starts (a shell's programs, say) before each call that changes files, so
// one run is enough to see the states that a crash at each of these calls would leave.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace muster::test {

struct Node {
  mode_t mode = 0;      // with the file's type
  std::string content;  // of a link: where it leads
  auto operator<=>(const Node&) const = default;
};

// By path below a folder; "" is the folder itself.
using Tree = std::map<std::string, Node>;
[[nodiscard]] Tree read_tree(const std::string& folder);
// Makes a folder look like this, long after a crash: all is old, and nothing else stays in it.
void write_tree(const std::string& folder, const Tree& tree);

struct State {
  Tree tree;
  std::string when;
};

struct Watched {
  int status = 0;             // as waitpid gives it
  long calls = 0;             // that were counted
  std::vector<State> states;  // those that differ
};

// Runs in a process of its own; the result is its exit code.
using Work = std::function<int()>;

// The states that these leave, at each call:
// - kill -9 of all processes
// - the same within a write, of which the first half is done
// - a power failure where only what was synced survives
// - a power failure where names and modes survive, but of files only bytes that were synced. File
//   systems with a journal leave this if the journal is written before the bytes.
[[nodiscard]] Watched watch(const std::string& folder, const Work& work);

enum class Trouble {
  none,        // calls that change files below the folder are counted
  full_disk,   // this and all later calls that need room fail with ENOSPC; a write is half done
  bad_sector,  // this call alone fails with EIO; calls that read count too
};

// The trouble begins at call `at`, from 1 on.
[[nodiscard]] Watched run_in_trouble(const std::string& folder, const Work& work, Trouble trouble,
                                     long at);

// How many calls there are at which it could begin.
[[nodiscard]] long count_calls(const std::string& folder, const Work& work, Trouble trouble);

// To try what comes after a crash takes long, so CI tries it for every kth state only. With
// MUSTER_CRASH_EVERY=1 in the environment it is tried for all.
[[nodiscard]] std::size_t crash_step(std::size_t in_ci);

}  // namespace muster::test
