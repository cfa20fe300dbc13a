// The steps by which a lab is made, as values. They are planned first, then executed, or printed by
// --dry-run.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "lab/tree.hpp"

namespace muster::lab {

struct MakeFolder {
  std::string path;
  mode_t mode = 0755;
  uid_t owner = 0;  // user id, and at the same time the group id
};
// Makes a folder to mount something on. If it exists, its owner and mode stay unchanged.
struct MakeMountPoint {
  std::string path;
};
struct WriteFile {
  std::string path;
  std::string content;
  mode_t mode = 0644;
  uid_t owner = 0;
};
// Writes many files and links. Their paths are relative to `folder`.
struct WriteTree {
  std::string folder;
  std::string what;  // description for people
  Tree tree;
};
// Makes an empty folder in an overlay's upper layer that hides the folder of the lower layer at the
// same place.
struct HideBelow {
  std::string path;
};
struct CopyFile {
  std::string from;
  std::string to;
  mode_t mode = 0755;
};
struct Link {
  std::string path;
  std::string target;
};
// An entry in an overlay's upper layer that hides the same path of the lower one, the machine's own
// root.
struct Whiteout {
  std::string path;
};
struct Mount {
  std::string type;  // "bind", "private", or a file system type of the kernel
  std::string source;
  std::string target;
  std::string options = {};
};
struct MakeHostKey {
  std::string path;
  std::string comment;
};

using Operation = std::variant<MakeFolder, MakeMountPoint, WriteFile, WriteTree, HideBelow,
                               CopyFile, Link, Whiteout, Mount, MakeHostKey>;

// Executes the operations in order and stops at the first failure. Consecutive operations that make
// host keys run in parallel. Every process that replay starts gets `environment`.
[[nodiscard]] Result<void> replay(std::span<const Operation> operations,
                                  const std::string& environment);

// One line for people, as a shell command if there is one.
[[nodiscard]] std::string to_text(const Operation& operation);

}  // namespace muster::lab
