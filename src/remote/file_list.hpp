// The regular files below a folder, and one hash of all their contents, by which copies of the
// folder on other hosts are compared with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::remote {

struct ListedFile {
  std::string path;  // below the folder
  std::uint64_t bytes = 0;
  // Nanoseconds since 1970. Nobody can set the time of the last change of an inode.
  std::int64_t modified = 0;
  std::int64_t changed = 0;

  friend bool operator==(const ListedFile&, const ListedFile&) = default;
};

struct FileList {
  std::vector<ListedFile> files = {};  // sorted by path
  std::uint64_t bytes = 0;
  std::shared_ptr<const std::string> paths;  // as SyncOptions::paths
};

// Leaves out folders named kPartial, as rsync does. Cost: one look at each file.
[[nodiscard]] Result<FileList> list_files(const std::string& folder);

// The files that are new, gone or written to since `before` was made; printable. Pure.
[[nodiscard]] std::vector<std::string> changed_files(const FileList& before, const FileList& now);

// The command that hashes the files whose paths it reads, in this order, and prints one hash
// (SHA-256). For a host's login shell, or for ours. A file that it cannot read is only missing from
// the hash and named on stderr. Exits with kMissingProgram if xargs, sed or sha256sum is missing.
// Pure.
constexpr int kMissingProgram = 127;
[[nodiscard]] std::string digest_line(const std::string& folder);

// Reads the output of digest_line. Empty if it contains no hash. Pure.
[[nodiscard]] std::string parse_digest(std::string_view out);

}  // namespace muster::remote
