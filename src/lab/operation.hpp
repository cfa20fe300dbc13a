// The steps that a lab is made of, as values: planned first, replayed second, printed by --dry-run.
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
  uid_t owner = 0;  // and group of the same number
};
// Somewhere to mount on. Owner and mode of what is there already are somebody else's.
struct MakeMountPoint {
  std::string path;
};
struct WriteFile {
  std::string path;
  std::string content;
  mode_t mode = 0644;
  uid_t owner = 0;
};
// Many files and links, by their paths below `folder`.
struct WriteTree {
  std::string folder;
  std::string what;  // for people
  Tree tree;
};
// Hides what the layer below has in this folder of an overlay's upper layer.
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
// Makes a path of the machine's own root invisible in an overlay layer.
struct Whiteout {
  std::string path;
};
struct Mount {
  std::string type;  // "bind" and "private" besides the kernel's file system types
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

// Carries them out in order and stops at the first that fails. Host keys are made in parallel once
// their run in the list begins. `environment` goes to every process started.
[[nodiscard]] Result<void> replay(std::span<const Operation> operations,
                                  const std::string& environment);

// One line for people, in the words of the shell where it has one.
[[nodiscard]] std::string to_text(const Operation& operation);

}  // namespace muster::lab
