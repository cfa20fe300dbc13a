// Files that are whole or not there, also after a crash. Throws std::runtime_error that names the
// file and the kernel's reason.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// "PATH: what: No space left on device", of errno.
[[noreturn]] void throw_errno(const std::string& path, const std::string& what);

// Closes it.
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

// 32 hexadecimal digits that nobody can guess.
[[nodiscard]] std::string random_name();

// The descriptor of a new file, mode 0666 less the umask. A file or link of that name is an error.
[[nodiscard]] int open_new(const std::string& path);

// A new file, as `open_new` makes it. Nothing is promised before `sync`.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();  // closes
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, size_t bytes);
  // On the disk, then closed. What is read next comes from the disk, as far as the kernel lets us.
  void sync();

 private:
  std::string path_;
  int fd_ = -1;
};

// With those above it; their names are on the disk.
void make_folder(const std::string& path);

// Entries of a folder that were made, renamed or removed.
void sync_folder(const std::string& path);

// Written by `write` to a temporary file beside `path`, then renamed over it.
void write_whole_file(const std::string& path, const std::function<void(NewFile&)>& write);

// Of at most `limit` bytes.
[[nodiscard]] std::string read_whole_file(const std::string& path, size_t limit);

// Read from the beginning, in order.
class OldFile {
 public:
  explicit OldFile(std::string path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  // Throws where the file ends sooner.
  void read(void* data, size_t bytes);

 private:
  std::string path_;
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace muster
