#include "torch/durable_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr size_t kAtOnce = 64 << 20;  // bytes per call; the kernel takes at most 2 GiB

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

void throw_errno(const std::string& path, const std::string& what) {
  const int error = errno;
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(error));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string random_name() {
  std::random_device random;
  std::array<char, 33> text{};
  (void)std::snprintf(text.data(), text.size(), "%08x%08x%08x%08x", random(), random(), random(),
                      random());
  return text.data();
}

int open_new(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int fd = ::open(path.c_str(), kFlags, 0666);
  if (fd < 0) throw_errno(path, "cannot be created");
  return fd;
}

NewFile::NewFile(std::string path) : path_(std::move(path)), fd_(open_new(path_)) {}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
}

void NewFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, next, std::min(bytes, kAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno(path_, "cannot be written");
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void NewFile::sync() {
  if (::fsync(fd_) != 0) throw_errno(path_, "cannot be written to the disk");
  (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  // A network file system may report only now that there was no room.
  if (::close(std::exchange(fd_, -1)) != 0) throw_errno(path_, "cannot be closed");
}

void make_folder(const std::string& path) {
  if (std::filesystem::is_directory(path)) return;
  const std::string above = folder_of(path);
  if (above != path) make_folder(above);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw_errno(path, "cannot be created");
  sync_folder(above);
}

void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_errno(path, "cannot be opened");
  // EINVAL: the file system cannot sync folders.
  const bool done = ::fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!done) throw_errno(path, "cannot be written to the disk");
}

void write_whole_file(const std::string& path, const std::function<void(NewFile&)>& write) {
  const std::string unfinished = path + ".tmp-" + random_name();
  try {
    NewFile file(unfinished);
    write(file);
    file.sync();
    if (::rename(unfinished.c_str(), path.c_str()) != 0)
      throw_errno(path, "cannot be renamed into place");
    sync_folder(folder_of(path));
  } catch (...) {
    ::unlink(unfinished.c_str());  // the name is ours alone
    throw;
  }
}

OldFile::OldFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a pipe must not wait.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) throw_errno(path_, "cannot be read");
  struct stat status = {};
  const bool told = ::fstat(fd_, &status) == 0;
  if (!told || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    throw std::runtime_error(path_ + ": is not a file");
  }
  size_ = static_cast<size_t>(status.st_size);
}

OldFile::~OldFile() {
  ::close(fd_);
}

void OldFile::read(void* data, size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(fd_, next, std::min(bytes, kAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(path_, "cannot be read");
    if (got == 0) throw std::runtime_error(path_ + ": is shorter than expected");
    next += got;
    bytes -= static_cast<size_t>(got);
  }
}

std::string read_whole_file(const std::string& path, size_t limit) {
  OldFile file(path);
  if (file.size() > limit) {
    throw std::runtime_error(path + ": has " + std::to_string(file.size()) + " bytes, more than " +
                             std::to_string(limit));
  }
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size());
  return text;
}

}  // namespace muster
