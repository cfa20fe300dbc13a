#include "sys/file.hpp"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace muster::sys {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) ::close(number_);
    number_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (number_ >= 0) ::close(number_);
}

int Fd::release() {
  const int number = number_;
  number_ = -1;
  return number;
}

namespace {

// A FIFO in a folder may never get a writer, so reading it could block forever. A pipe from the
// caller's shell, as for /dev/stdin and <(...), has or had a writer.
bool is_lonely_fifo(int fd, const struct stat& status) {
  if (!S_ISFIFO(status.st_mode)) return false;
  struct statfs filesystem{};
  if (::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == PIPEFS_MAGIC) return false;
  struct stat input{};
  const bool is_input = ::fstat(STDIN_FILENO, &input) == 0 && input.st_dev == status.st_dev &&
                        input.st_ino == status.st_ino;
  return !is_input;
}

// Most distributions give each user a private group with the same number as the user, and some let
// that group write to all new files. No other user is in it.
bool is_own_group(const struct stat& status) {
  return status.st_uid != 0 && status.st_gid == status.st_uid;
}

bool is_others(const struct stat& status) {
  return status.st_uid != ::geteuid() && status.st_uid != 0;
}

bool others_write(const struct stat& status) {
  const mode_t others = is_own_group(status) ? S_IWOTH : S_IWOTH | S_IWGRP;
  return (status.st_mode & others) != 0;
}

Result<void> refuse_if_others_write(const struct stat& status, const std::string& path) {
  const auto refused = [&path](std::string what, std::string hint) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = std::move(what),
                            .where = {.file = path},
                            .hint = std::move(hint)});
  };
  if (!S_ISREG(status.st_mode)) return {};  // a pipe from the caller
  if (is_others(status)) {
    return refused(
        fmt::format("this file belongs to another user (uid {}), who could make muster "
                    "run commands as you",
                    status.st_uid),
        "read the file; if you trust it, copy it and use your own copy" +
            (::geteuid() != 0
                 ? ""
                 : fmt::format(", or run: chown root {0}, or pass --config <(cat {0})", path)));
  }
  if (others_write(status)) {
    return refused("other users can change this file and so make muster run commands as you",
                   "read the file; if you trust it, run: chmod go-w " + path);
  }
  return {};
}

Result<Fd> open_to_read(const std::string& path, Writers writers) {
  // O_NONBLOCK, because opening a FIFO would wait for its writer.
  const int no_link = writers == Writers::kOnlyUsAndNoLink ? O_NOFOLLOW : 0;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_link));
  if (!fd.valid() && errno == ELOOP && no_link != 0) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "this is a symbolic link in a directory that other users can change",
              .where = {.file = path},
              .hint = "if you trust the file that it points to, pass that file with --config"});
  }
  if (!fd.valid()) return unexpected(system_error("cannot open the file", path));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return unexpected(system_error("cannot examine the file", path));
  }
  if (writers != Writers::kAnybody) MUSTER_CHECK(refuse_if_others_write(status, path));
  if (is_lonely_fifo(fd.get(), status)) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "this is a named pipe (FIFO), not a regular file",
              .where = {.file = path},
              .hint = "pass a regular file, or pass /dev/stdin and pipe the contents into muster"});
  }
  if (::fcntl(fd.get(), F_SETFL, 0) != 0) {
    return unexpected(system_error("cannot read the file", path));
  }
  return fd;
}

}  // namespace

FolderWriters folder_writers(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & S_IWOTH) != 0) {
    return FolderWriters::kEverybody;
  }
  return is_others(status) || others_write(status) ? FolderWriters::kOthers
                                                   : FolderWriters::kOnlyUs;
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes, Writers writers) {
  MUSTER_TRY(const Fd fd, open_to_read(path, writers));
  std::string content;
  const bool is_read = read_pieces(fd.get(), [&](std::string_view piece) {
    content.append(piece);
    return content.size() <= max_bytes;
  });
  if (!is_read) return unexpected(system_error("cannot read the file", path));
  if (content.size() <= max_bytes) return content;
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("the file is longer than {} bytes", max_bytes),
                          .where = {.file = path}});
}

bool read_pieces(int fd, const std::function<bool(std::string_view)>& take) {
  std::vector<char> piece(std::size_t{1} << 16);
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0 || !take({piece.data(), static_cast<std::size_t>(count)})) return true;
  }
}

std::size_t write_all(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (put > 0) {
      done += static_cast<std::size_t>(put);
    } else if (put < 0 && errno == EAGAIN) {  // another program made the terminal non-blocking
      pollfd writable = {fd, POLLOUT, 0};
      (void)::poll(&writable, 1, -1);
    } else if (put == 0 || errno != EINTR) {
      if (put == 0) errno = EIO;
      break;
    }
  }
  return done;
}

namespace {

// Without this, a power failure could bring the old file back.
Result<void> sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() && errno == EACCES) return {};  // the folder can be written but not read
  // EINVAL: the file system cannot sync folders.
  if (fd.valid() && (::fsync(fd.get()) == 0 || errno == EINVAL)) return {};
  return unexpected(system_error("cannot sync the directory", folder));
}

// A new file beside `path`, synced to disk. The destructor removes it unless it was renamed.
class Draft {
 public:
  explicit Draft(const std::string& path) : name_(path + ".XXXXXX") {
    fd_ = Fd(::mkostemp(name_.data(), O_CLOEXEC));  // mode 0600 until fchmod
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (fd_.valid()) ::unlink(name_.c_str());
  }

  [[nodiscard]] const char* name() const { return name_.c_str(); }
  void was_renamed() { fd_ = Fd(); }
  [[nodiscard]] Result<void> fill(const std::string& path, std::string_view content, mode_t mode);

 private:
  std::string name_;
  Fd fd_;
};

Result<void> Draft::fill(const std::string& path, std::string_view content, mode_t mode) {
  if (!fd_.valid()) return unexpected(system_error("cannot create the file", path));
  if (write_all(fd_.get(), content) < content.size()) {
    return unexpected(system_error("cannot write the file", path));
  }
  // fchmod, because the umask must not affect the mode of a key file.
  if (::fchmod(fd_.get(), mode) != 0) return unexpected(system_error("cannot set the mode", path));
  if (::fsync(fd_.get()) != 0) return unexpected(system_error("cannot sync the file", path));
  return {};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view content, mode_t mode) {
  Draft draft(path);
  MUSTER_CHECK(draft.fill(path, content, mode));
  if (::rename(draft.name(), path.c_str()) != 0) {
    return unexpected(system_error("cannot rename the new file into place", path));
  }
  draft.was_renamed();
  return sync_folder_of(path);
}

namespace {

// For file systems that can neither link nor rename without replacing. After a crash the file may
// be incomplete.
Result<bool> create_in_place(const std::string& path, std::string_view content, mode_t mode) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid() && errno == EEXIST) return false;
  if (!fd.valid()) return unexpected(system_error("cannot create the file", path));
  if (write_all(fd.get(), content) < content.size() || ::fsync(fd.get()) != 0) {
    return unexpected(system_error("cannot write the file", path));
  }
  return true;
}

}  // namespace

Result<bool> create_file(const std::string& path, std::string_view content, mode_t mode) {
  Draft draft(path);
  MUSTER_CHECK(draft.fill(path, content, mode));
  // Try a link first, because network file systems cannot rename without replacing. Where there are
  // no links, rename.
  if (::link(draft.name(), path.c_str()) != 0) {
    if (errno == EEXIST) return false;
    if (::renameat2(AT_FDCWD, draft.name(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      draft.was_renamed();
    } else if (errno == EEXIST) {
      return false;
    } else {
      return create_in_place(path, content, mode);
    }
  }
  MUSTER_CHECK(sync_folder_of(path));
  return true;
}

Result<void> move_file(const std::string& from, const std::string& to) {
  const Fd fd(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return unexpected(system_error("cannot sync the file", from));
  }
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return unexpected(system_error("cannot rename the file to " + to, from));
  }
  return sync_folder_of(to);
}

Result<void> make_folders(const std::string& path, mode_t mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) == 0) {
      if (::chmod(part.c_str(), mode) != 0) {
        return unexpected(system_error("cannot set the mode of the directory", part));
      }
    } else if (errno != EEXIST) {
      return unexpected(system_error("cannot create the directory", part));
    }
    if (end == std::string::npos) return {};
  }
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string home_folder() {
  const std::string home = variable("HOME");
  return home.empty() ? "/" : home;
}

std::string state_folder() {
  const std::string base = variable("XDG_STATE_HOME");
  return (base.empty() ? home_folder() + "/.local/state" : base) + "/muster";
}

std::string cache_folder() {
  const std::string base = variable("XDG_CACHE_HOME");
  return (base.empty() ? home_folder() + "/.cache" : base) + "/muster";
}

Result<void> make_private_folder(const std::string& path) {
  MUSTER_CHECK(make_folders(path, 0700));
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return unexpected(system_error("cannot examine the directory", path));
  }
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0) {
    return {};
  }
  return unexpected(
      Error{.code = ErrorCode::kSystem,
            .what = "other users can use this directory",
            .where = {.file = path},
            .hint = fmt::format("it must be a directory that belongs to uid {} and has mode 0700",
                                ::geteuid())});
}

}  // namespace muster::sys
