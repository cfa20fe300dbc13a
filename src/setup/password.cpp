#include "setup/password.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::setup {
namespace {

Error refused(const std::string& path, std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage,
          .what = std::move(what),
          .where = {.file = path},
          .hint = std::move(hint)};
}

Result<Secret> first_line(int fd, const std::string& path) {
  Secret line;
  char c = 0;
  while (true) {
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unexpected(system_error("cannot read the password", path));
    if (got == 0 || c == '\n') break;
    line.add(c);
  }
  if (line.text().ends_with('\r')) line.drop_last();
  if (line.text().empty()) {
    return unexpected(refused(path, "there is no password on the first line", ""));
  }
  return line;
}

}  // namespace

Result<Secret> read_password(const std::string& path) {
  if (path == "-") return first_line(STDIN_FILENO, "standard input");
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
    return unexpected(system_error("cannot open the password file", path));
  }
  if (S_ISREG(status.st_mode) && (status.st_mode & 0077) != 0) {
    return unexpected(
        refused(path, "others can read the password file",
                fmt::format("run chmod 600 {}, and consider the password compromised", path)));
  }
  return first_line(fd.get(), path);
}

}  // namespace muster::setup
