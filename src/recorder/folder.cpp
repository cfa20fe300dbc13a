#include "recorder/folder.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace muster::recorder {
namespace {

enum class Name { kFree, kOurs, kOfOthers };

// Finds out whether the name is free. If no process listens at that socket any more, removes it.
// Never blocks.
Name look_at(int folder, const std::string& name) {
  struct stat status{};
  if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Name::kFree : Name::kOfOthers;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket_path(folder, name);
  if (!S_ISSOCK(status.st_mode) || path.size() >= sizeof(address.sun_path)) return Name::kOfOthers;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Name::kOfOthers;
  Name found = Name::kOfOthers;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    ucred peer{};
    socklen_t length = sizeof(peer);
    const bool told = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    if (told && peer.pid == getpid()) found = Name::kOurs;
  } else if (errno == ECONNREFUSED && unlinkat(folder, name.c_str(), 0) == 0) {
    found = Name::kFree;
  }
  ::close(fd);
  return found;
}

}  // namespace

int open_private_folder(const char* path) {
  if (path == nullptr || path[0] != '/') return -1;
  const int folder = ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  struct stat status{};
  const bool is_private = fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
                          (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (is_private) return folder;
  ::close(folder);
  return -1;
}

std::string socket_path(int folder, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(folder) + "/" + name;
}

std::optional<std::string> free_socket_name(int folder) {
  // Containers that share the folder may use the same process ids, so a few more names are tried.
  constexpr int kMostNames = 8;
  const std::string pid = std::to_string(getpid());
  for (int i = 0; i < kMostNames; ++i) {
    std::string name = i == 0 ? pid : pid + "." + std::to_string(i);
    const Name found = look_at(folder, name);
    if (found == Name::kFree) return name;
    if (found == Name::kOurs) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace muster::recorder
