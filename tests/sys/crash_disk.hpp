// The state of a folder on the disk, as opposed to what processes see. Changes that were not synced
// exist only in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sys/crash_states.hpp"
#include "sys/file.hpp"

namespace muster::test {

class CrashDisk {
 public:
  // Assumes that the folder's present state is on the disk.
  explicit CrashDisk(std::string folder);

  void look();  // Notes the folder's state, after it may have changed.
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
    std::map<std::string, ino_t> names;  // the entries, if it is a folder
  };

  void learn(const std::string& path, const Seen& seen);
  void sync_one(const std::string& path, const Seen& seen);
  void add_synced(Tree& tree, const std::string& path, ino_t inode) const;

  std::string folder_;
  std::map<std::string, Seen> seen_;
  std::map<ino_t, Kept> kept_;
  std::vector<sys::Fd> held_;  // keeps inode numbers from being reused
};

}  // namespace muster::test
