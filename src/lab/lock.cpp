#include "lab/lock.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lab/spec.hpp"

namespace muster::lab {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

// Returns false if the folder was removed while this process waited for its lock.
bool still_there(int fd, const std::string& path) {
  struct stat held{};
  struct stat now{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &now) == 0 && held.st_ino == now.st_ino;
}

}  // namespace

Result<Lock> Lock::take(std::string_view lab, Folder folder) {
  const std::string path = lab_folder(lab);
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    // Another lab's `down` may just now have removed the parent folder. Then try again.
    if (folder == kMake && !sys::make_folders(path, 0755)) continue;
    sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT && folder == kMake) continue;
    if (!fd.valid()) return unexpected(system_error("cannot open the lab's directory", path));
    // Polls, because flock has no time limit.
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && still_there(fd.get(), path)) {
      return Lock(std::move(fd));
    }
    if (folder == kExisting && !sys::exists(path)) {
      return unexpected(
          Error{.code = ErrorCode::kUsage, .what = fmt::format("lab '{}' has been removed", lab)});
    }
  }
  return unexpected(
      Error{.code = ErrorCode::kTimeout,
            .what = fmt::format("another muster lab command is changing lab '{}'", lab)});
}

}  // namespace muster::lab
