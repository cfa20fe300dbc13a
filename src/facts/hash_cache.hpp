// Hashes of large libraries, kept on the host from one check to the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::facts {

// A file is read in parts, so that the next check can continue where this one ran out of time.
// Parts are small, because a check does not stop in the middle of one.
inline constexpr std::size_t kHashedPart = std::size_t{1} << 20;

// One file as it was when its parts were read.
struct HashedFile {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::int64_t used_s = 0;  // Unix time of the last check that asked for it
  std::string parts = {};   // the hashes of the first parts, one after the other

  friend bool operator==(const HashedFile&, const HashedFile&) = default;
};

// How much one check reads. The clock starts when it asks for the first hash.
struct HashBudget {
  std::chrono::milliseconds time{0};
  std::size_t at_least = 0;  // bytes to read even if that takes longer than `time`
  std::chrono::milliseconds at_least_within{0};  // but no longer than this
};

// Not for several threads. What the file in `path` holds is hostile until it is parsed, and only
// this user or root may have written it.
class HashCache {
 public:
  HashCache(std::string path, HashBudget budget);

  // The hash of the file's content; empty: it cannot be read, or not within the budget. A file
  // whose size, inode and times are as they were is not read again.
  [[nodiscard]] std::string hash_of(const std::string& file);

  // Writes what was learned, at most kMostHashedFiles files, those that were asked for last first.
  // Nothing is said if that fails: the next check reads again.
  void save();

 private:
  void read_on(int fd, HashedFile& file);
  [[nodiscard]] bool may_read();

  std::string path_;
  HashBudget budget_;
  std::optional<std::chrono::steady_clock::time_point> start_;
  std::size_t read_ = 0;
  bool changed_ = false;
  std::unordered_map<std::string, HashedFile> files_;
};

inline constexpr std::size_t kMostHashedFiles = 1024;

// In the user's cache folder, one file for each host, because hosts may share a home folder. Makes
// the folder with mode 0700 and removes files that no check has changed for a month. Empty: there
// can be none.
[[nodiscard]] std::string hash_cache_path(const std::string& hostname);

// Whether another machine serves the file (NFS, Lustre, ...): a thousand hosts that read it at once
// would overload that machine. Files of FUSE count as remote, because nothing tells which ones are.
[[nodiscard]] bool is_remote_file(const std::string& path);
[[nodiscard]] bool is_remote_file_system(std::uint32_t type);  // statfs::f_type

// Of the file that holds the cache.
[[nodiscard]] std::string to_json(const std::vector<HashedFile>& files);
[[nodiscard]] std::vector<HashedFile> parse_hashed_files(
    const std::string& json);  // empty: refused

}  // namespace muster::facts
