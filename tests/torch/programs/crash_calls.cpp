#include "crash_calls.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::test {
namespace {

struct Undo {
  std::string from, to;  // of a completed rename
};

struct World {
  std::recursive_mutex mutex;
  bool armed = false;
  std::string folder;
  Mishap mishap = Mishap::none;
  long at = 0;
  long count = 0;
  std::map<int, std::string> open;       // by descriptor
  std::map<std::string, bool> unsynced;  // files with bytes that exist only in memory
  std::vector<Undo> renames;             // renames that exist only in memory
  // Files and folders that exist only in memory, by their present names.
  std::vector<std::string> made;
};

World& world() {
  static World* one = new World;
  return *one;
}

// Returns the full path, for a call that takes a path relative to a folder's descriptor.
std::string resolved(int folder, const char* path) {
  if (path == nullptr) return {};
  if (path[0] == '/' || folder == AT_FDCWD) return path;
  const std::lock_guard lock(world().mutex);
  const auto known = world().open.find(folder);
  return known == world().open.end() ? path : known->second + "/" + path;
}

std::string path_of(int fd) {
  const std::lock_guard lock(world().mutex);
  const auto known = world().open.find(fd);
  return known == world().open.end() ? "" : known->second;
}

// Empties a file whose bytes exist only in memory. Does nothing if the file no longer exists.
void forget_content(const std::string& path) {
  ::syscall(SYS_truncate, path.c_str(), 0);
}

// Undoes all changes that exist only in memory, the latest first, as if the journal had never been
// written.
void lose_unsynced() {
  World& w = world();
  for (auto name = w.made.rbegin(); name != w.made.rend(); ++name) {
    if (::syscall(SYS_unlink, name->c_str()) != 0) ::syscall(SYS_rmdir, name->c_str());
  }
  for (auto undo = w.renames.rbegin(); undo != w.renames.rend(); ++undo) {
    ::syscall(SYS_renameat2, AT_FDCWD, undo->to.c_str(), AT_FDCWD, undo->from.c_str(), 0);
    for (auto& [path, dirty] : w.unsynced) {
      if (!dirty || !path.starts_with(undo->to)) continue;
      forget_content(undo->from + path.substr(undo->to.size()));
    }
  }
  for (const auto& [path, dirty] : w.unsynced) {
    if (dirty) forget_content(path);
  }
}

[[noreturn]] void die() {
  if (world().mishap == Mishap::power) lose_unsynced();
  ::syscall(SYS_kill, ::getpid(), SIGKILL);
  for (;;) ::pause();
}

bool needs_room(const std::string& call) {
  return call == "write" || call == "create" || call == "mkdir" || call == "fsync";
}

// Counts a call, and returns whether it must fail; errno is then set. If the process must die at
// this call, does not return.
bool strikes(const std::string& call, const std::string& path) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (!w.armed || !path.starts_with(w.folder)) return false;
  ++w.count;
  const bool now = w.count == w.at;
  switch (w.mishap) {
    case Mishap::kill:
    case Mishap::power:
      if (now) die();
      return false;
    case Mishap::torn:
      if (now && call != "write") die();
      return false;
    case Mishap::full_disk:
      errno = ENOSPC;
      return w.count >= w.at && needs_room(call);
    case Mishap::bad_sector:
      errno = EIO;
      return now;
    case Mishap::none:
      return false;
  }
  return false;
}

bool is_torn(const std::string& path) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  return w.armed && w.mishap == Mishap::torn && w.count == w.at && path.starts_with(w.folder);
}

int opened(int folder, const char* path, int flags, mode_t mode) {
  const std::string full = resolved(folder, path);
  const bool makes = (flags & O_CREAT) != 0;
  if (strikes(makes ? "create" : "open", full)) return -1;
  const bool is_new = makes && ::syscall(SYS_access, full.c_str(), F_OK) != 0;
  const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  if (fd >= 0 && world().armed) {
    const std::lock_guard lock(world().mutex);
    world().open[fd] = full;
    if (makes) world().unsynced[full] = true;
    if (makes && is_new) world().made.push_back(full);
  }
  return fd;
}

}  // namespace

void arm(const std::string& folder, Mishap mishap, long at) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.folder = folder;
  w.mishap = mishap;
  w.at = at;
  w.count = 0;
  w.armed = true;
}

void disarm() {
  const std::lock_guard lock(world().mutex);
  world().armed = false;
}

long calls() {
  const std::lock_guard lock(world().mutex);
  return world().count;
}

}  // namespace muster::test

using namespace muster::test;  // NOLINT: the C library's names follow

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN int open(const char* path, int flags, ...) {
  va_list words;
  va_start(words, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(words, mode_t) : 0;
  va_end(words);
  return opened(AT_FDCWD, path, flags, mode);
}

SHOWN int openat(int folder, const char* path, int flags, ...) {
  va_list words;
  va_start(words, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(words, mode_t) : 0;
  va_end(words);
  return opened(folder, path, flags, mode);
}

SHOWN ssize_t write(int fd, const void* data, size_t bytes) {
  const std::string path = path_of(fd);
  if (strikes("write", path)) return -1;
  if (is_torn(path)) {
    ::syscall(SYS_write, fd, data, bytes / 2);
    die();
  }
  if (!path.empty()) {
    const std::lock_guard lock(world().mutex);
    world().unsynced[path] = true;
  }
  return ::syscall(SYS_write, fd, data, bytes);
}

SHOWN ssize_t read(int fd, void* data, size_t bytes) {
  if (strikes("read", path_of(fd))) return -1;
  return ::syscall(SYS_read, fd, data, bytes);
}

SHOWN int fsync(int fd) {
  const std::string path = path_of(fd);
  if (strikes("fsync", path)) return -1;
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (const auto file = w.unsynced.find(path); file != w.unsynced.end()) file->second = false;
  std::erase_if(w.renames,
                [&](const Undo& undo) { return undo.to.substr(0, undo.to.rfind('/')) == path; });
  std::erase_if(w.made,
                [&](const std::string& name) { return name.substr(0, name.rfind('/')) == path; });
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

SHOWN int close(int fd) {
  const std::string path = path_of(fd);
  if (!path.empty()) {
    const std::lock_guard lock(world().mutex);
    world().open.erase(fd);
  }
  if (strikes("close", path)) {
    const int error = errno;
    ::syscall(SYS_close, fd);  // close also closes the descriptor when it reports an error
    errno = error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_close, fd));
}

SHOWN int rename(const char* from, const char* to) {
  if (strikes("rename", to)) return -1;
  const int result = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (result != 0 || !w.armed) return result;
  w.renames.push_back({from, to});
  std::map<std::string, bool> moved;
  for (const auto& [path, dirty] : w.unsynced) {
    const std::string prefix = std::string(from) + "/";
    const bool below = path.starts_with(prefix);
    moved[path == from ? std::string(to)
          : below      ? std::string(to) + "/" + path.substr(prefix.size())
                       : path] = dirty;
  }
  w.unsynced = moved;
  for (std::string& name : w.made) {
    const std::string prefix = std::string(from) + "/";
    if (name == from) name = to;
    if (name.starts_with(prefix)) name = std::string(to) + "/" + name.substr(prefix.size());
  }
  return result;
}

SHOWN int mkdir(const char* path, mode_t mode) {
  if (strikes("mkdir", path)) return -1;
  const int result = static_cast<int>(::syscall(SYS_mkdir, path, mode));
  const std::lock_guard lock(world().mutex);
  if (result == 0 && world().armed) world().made.emplace_back(path);
  return result;
}

SHOWN int unlink(const char* path) {
  if (strikes("unlink", path)) return -1;
  return static_cast<int>(::syscall(SYS_unlink, path));
}

SHOWN int unlinkat(int folder, const char* path, int flags) {
  if (strikes("unlinkat", resolved(folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

SHOWN int remove(const char* path) {
  if (strikes("remove", path)) return -1;
  if (::syscall(SYS_unlink, path) == 0) return 0;
  return static_cast<int>(::syscall(SYS_rmdir, path));
}

SHOWN int access(const char* path, int mode) {
  if (strikes("access", path)) return -1;
  return static_cast<int>(::syscall(SYS_access, path, mode));
}
