// A folder as the disk has it, next to how processes see it: what was not synced is in memory only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sys/crash_states.hpp"
#include "sys/file.hpp"

namespace muster::test {

class CrashDisk {
 public:
  // All that the folder has by now is on the disk.
  explicit CrashDisk(std::string folder);

  void look();  // at the folder, after it may have changed
  void sync(const std::string& path);
  void sync_all();

  [[nodiscard]] Tree in_memory() const;
  [[nodiscard]] Tree synced() const;
  [[nodiscard]] Tree with_synced_bytes() const;  // names and modes as in memory

 private:
  struct Seen {
    ino_t inode = 0;
    Node node;
  };
  struct Kept {
    Node node;
    std::map<std::string, ino_t> names;  // of a folder
  };

  void learn(const std::string& path, const Seen& seen);
  void sync_one(const std::string& path, const Seen& seen);
  void add_synced(Tree& tree, const std::string& path, ino_t inode) const;

  std::string folder_;
  std::map<std::string, Seen> seen_;
  std::map<ino_t, Kept> kept_;
  std::vector<sys::Fd> held_;  // so that no inode number is used again
};

}  // namespace muster::test
