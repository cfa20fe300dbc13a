// Files that are either complete or do not exist, even after a crash. Functions throw
// std::runtime_error that names the file and the kernel's reason.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// Throws "PATH: what: No space left on device", with the text for errno.
[[noreturn]] void throw_errno(const std::string& path, const std::string& what);

// Owns a file descriptor and closes it on destruction.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// Returns 32 unpredictable hexadecimal digits.
[[nodiscard]] std::string random_name();

// Returns the descriptor of a new file, mode 0666 less the umask. Fails if a file or link of that
// name exists.
[[nodiscard]] int open_new(const std::string& path);

// A new file, created as by `open_new`. Nothing is guaranteed to be on disk before `sync`.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();  // closes the file
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, size_t bytes);
  // Writes everything to the disk, then closes the file. Later reads come from the disk, as far as
  // the kernel allows.
  void sync();

 private:
  std::string path_;
  int fd_ = -1;
};

// Creates a folder and its missing parents, and syncs their names to the disk.
void make_folder(const std::string& path);

// Makes sure that entries which were created, renamed or removed in the folder survive a crash.
void sync_folder(const std::string& path);

// Calls `write` with a temporary file beside `path`, then renames that file to `path`.
void write_whole_file(const std::string& path, const std::function<void(NewFile&)>& write);

// Throws if the file has more than `limit` bytes.
[[nodiscard]] std::string read_whole_file(const std::string& path, size_t limit);

// Reads an existing file in order, from its beginning.
class OldFile {
 public:
  explicit OldFile(std::string path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  // Throws if the file ends too early.
  void read(void* data, size_t bytes);

 private:
  std::string path_;
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace muster
