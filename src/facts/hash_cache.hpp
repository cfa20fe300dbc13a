// Hashes of large libraries, stored on the host for later checks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace muster::facts {

// Files are read in parts, so that the next check can continue where this one ran out of time.
// Parts are small, because a check never stops in the middle of one.
inline constexpr std::size_t kHashedPart = std::size_t{1} << 20;

// A file in the state in which its parts were read.
struct HashedFile {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::int64_t used_s = 0;  // Unix time of the last check that needed it
  std::string parts = {};   // hashes of the parts read so far, one after another

  friend bool operator==(const HashedFile&, const HashedFile&) = default;
};

// How much one check may read. The time begins when it asks for the first hash.
struct HashBudget {
  std::chrono::milliseconds time{0};
  std::size_t at_least = 0;                      // bytes to read even if that takes longer
  std::chrono::milliseconds at_least_within{0};  // time limit for reading `at_least`
};

// Keeps the hashes in the file `path`. Ignores that file if anyone but this user or root may have
// written it, and ignores impossible entries. Not for use by several threads.
class HashCache {
 public:
  HashCache(std::string path, HashBudget budget);

  // Returns the hash of the file's content. Empty if the file cannot be read, or not within the
  // budget. A file with unchanged size, inode and times is not read again.
  [[nodiscard]] std::string hash_of(const std::string& file);

  // Writes the hashes to disk: at most kMostHashedFiles files, those that were requested last.
  // Ignores failures, because the next check can read the files again.
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

// The path of the cache, in the user's cache folder. There is one file per host, because hosts may
// share a home directory. Creates the folder with mode 0700 and removes files that no check has
// changed for a month. Empty if there can be no cache.
[[nodiscard]] std::string hash_cache_path(const std::string& hostname);

// Whether another machine serves the file (NFS, Lustre, ...). If a thousand hosts read it at once,
// they would overload that machine. All files on FUSE count as remote, because it is unknown which
// of them are.
[[nodiscard]] bool is_remote_file(const std::string& path);
[[nodiscard]] bool is_remote_file_system(std::uint32_t type);  // takes statfs::f_type

// The JSON text of the cache file.
[[nodiscard]] std::string to_json(const std::vector<HashedFile>& files);
[[nodiscard]] std::vector<HashedFile> parse_hashed_files(
    const std::string& json);  // returns an empty list if the text is invalid

}  // namespace muster::facts
