// A set of files and links in memory that is written at once.
#pragma once

#include <map>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

struct TreeEntry {
  std::string content;  // for a link: its target
  bool is_link = false;
  mode_t mode = 0444;

  friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

// Entries by absolute path. Folders are derived from the paths.
using Tree = std::map<std::string, TreeEntry>;

// Changes the files below `folder` from `before` to `wanted` and touches no others. Files that stay
// are changed in place, so that mounts on them remain.
[[nodiscard]] Result<void> write_tree(const std::string& folder, const Tree& before,
                                      const Tree& wanted);

}  // namespace muster::lab
