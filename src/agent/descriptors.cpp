#include "agent/descriptors.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace muster::agent {
namespace {

std::vector<int> open_descriptors() {
  std::vector<int> numbers;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return numbers;
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const char* name = static_cast<const char*>(entry->d_name);
    int number = -1;
    const auto parsed = std::from_chars(name, name + std::strlen(name), number);
    if (parsed.ec == std::errc()) numbers.push_back(number);
  }
  ::closedir(folder);
  return numbers;
}

}  // namespace

void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

void read_nothing() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) return;
  (void)::dup2(nothing, STDIN_FILENO);  // no close-on-exec: the program uses it
  (void)::close(nothing);
}

void close_inherited() {
  for (const int number : open_descriptors()) {
    const int flags = ::fcntl(number, F_GETFD);
    const bool inherited = flags >= 0 && (flags & FD_CLOEXEC) == 0;
    if (inherited && number > STDERR_FILENO) ::close(number);
  }
}

}  // namespace muster::agent
