// Reads files with a size limit, and writes them so that a reader sees either the old or the new
// content, never an incomplete file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::sys {

// Owns a file descriptor and closes it on destruction. Movable, not copyable.
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

// Who may have written a file. A file that makes muster run commands must come from this user or
// root. In a folder where others can create links, muster must not follow a link either: it could
// point to another file of this user.
enum class Writers { kAnybody, kOnlyUs, kOnlyUsAndNoLink };

// Who can create files in a folder; "us" means this user and root.
enum class FolderWriters { kOnlyUs, kOthers, kEverybody };
[[nodiscard]] FolderWriters folder_writers(const std::string& path);

// Rejects files longer than `max_bytes`, because input may be hostile. Rejects a FIFO, but reads
// the pipe behind /dev/stdin or <(...).
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t max_bytes = kMaxFileBytes,
                                            Writers writers = Writers::kAnybody);

// Reads a descriptor piece by piece until its end or until `take` returns false. Returns false if a
// read fails; errno has the reason.
[[nodiscard]] bool read_pieces(int fd, const std::function<bool(std::string_view)>& take);

// Writes a temporary file beside `path` with `mode`, syncs it, renames it, and syncs the folder. If
// `path` is a symbolic link, the link itself is replaced.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view content,
                                      mode_t mode);

// Like write_file, but never replaces a file: returns false if `path` exists.
[[nodiscard]] Result<bool> create_file(const std::string& path, std::string_view content,
                                       mode_t mode);

// Renames a file that another program wrote. Syncs the file before and the folder afterwards.
[[nodiscard]] Result<void> move_file(const std::string& from, const std::string& to);

// Writes to any descriptor, in several steps if necessary, and waits while a non-blocking one is
// full. Returns the number of bytes written. If that is not all, errno has the reason.
[[nodiscard]] std::size_t write_all(int fd, std::string_view bytes);

// Like mkdir -p. New folders get `mode`; existing ones are left as they are.
[[nodiscard]] Result<void> make_folders(const std::string& path, mode_t mode);

[[nodiscard]] bool exists(const std::string& path);

// The user's folders; no trailing slash.
[[nodiscard]] std::string home_folder();
[[nodiscard]] std::string state_folder();  // $XDG_STATE_HOME/muster, else ~/.local/state/muster
[[nodiscard]] std::string cache_folder();  // $XDG_CACHE_HOME/muster, else ~/.cache/muster

// Creates the folder with mode 0700, or checks that it belongs to us and nobody else can enter it.
// Content of a folder that somebody else created cannot be trusted.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);

}  // namespace muster::sys
