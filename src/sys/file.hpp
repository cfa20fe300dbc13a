// Files, read with a limit and written so that a reader sees the old or the new content, never
// half.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::sys {

// Closes on destruction. Moves, does not copy.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }
  int release();

 private:
  int number_ = -1;
};

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

// Who may have written a file: one that makes us run commands must come from this user or root. In
// a folder where others can put a link, that link could choose one of our own files.
enum class Writers { kAnybody, kOnlyUs, kOnlyUsAndNoLink };

// Who can put files into a folder; "us" is this user and root.
enum class FolderWriters { kOnlyUs, kOthers, kEverybody };
[[nodiscard]] FolderWriters folder_writers(const std::string& path);

// Refuses what is longer than `max_bytes`: input files are hostile until parsed. Refuses a FIFO,
// but reads the pipe behind /dev/stdin or <(...).
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t max_bytes = kMaxFileBytes,
                                            Writers writers = Writers::kAnybody);

// Reads a descriptor in pieces to its end, or until `take` returns false because it wants no more.
// False: it cannot be read, and errno says why.
[[nodiscard]] bool read_pieces(int fd, const std::function<bool(std::string_view)>& take);

// Writes beside `path` under a temporary name with `mode`, syncs, renames, syncs the folder.
// Follows no symbolic link at the last component: a link there is replaced.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view content,
                                      mode_t mode);

// The same for a file that must not be there yet; false: it is, and stays as it was.
[[nodiscard]] Result<bool> create_file(const std::string& path, std::string_view content,
                                       mode_t mode);

// Renames a file that another program wrote; syncs it before and the folder afterwards.
[[nodiscard]] Result<void> move_file(const std::string& from, const std::string& to);

// Writes to any descriptor, in as many parts as it takes; waits while a non-blocking one is full.
// Returns how many bytes were written. If it is fewer than all, errno says why.
[[nodiscard]] std::size_t write_all(int fd, std::string_view bytes);

// Like mkdir -p; new folders get `mode`, existing ones are left alone.
[[nodiscard]] Result<void> make_folders(const std::string& path, mode_t mode);

[[nodiscard]] bool exists(const std::string& path);

// The user's folders; no trailing slash.
[[nodiscard]] std::string home_folder();
[[nodiscard]] std::string state_folder();  // $XDG_STATE_HOME/muster, else ~/.local/state/muster
[[nodiscard]] std::string cache_folder();  // $XDG_CACHE_HOME/muster, else ~/.cache/muster

// Makes the folder with mode 0700, or verifies that it is ours and nobody else can enter it: what
// lies in a folder of somebody else's making is not ours.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);

}  // namespace muster::sys
