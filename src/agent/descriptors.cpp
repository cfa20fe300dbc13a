#include "agent/descriptors.hpp"

#include <charconv>
#include <cstdlib>
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

// -1: none.
int pmi_descriptor() {
  const char* text = std::getenv("PMI_FD");  // NOLINT(concurrency-mt-unsafe)
  int number = -1;
  if (text != nullptr) (void)std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

void close_inherited() {
  const int pmi = pmi_descriptor();
  for (const int number : open_descriptors()) {
    const int flags = ::fcntl(number, F_GETFD);
    const bool inherited = flags >= 0 && (flags & FD_CLOEXEC) == 0;
    if (inherited && number > STDERR_FILENO && number != pmi) ::close(number);
  }
}

void close_all_but(int kept) {
  for (const int number : open_descriptors()) {
    if (number != kept) ::close(number);
  }
}

}  // namespace muster::agent
