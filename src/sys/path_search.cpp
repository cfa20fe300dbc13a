#include "sys/path_search.hpp"

#include <algorithm>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace muster::sys {
namespace {

std::string from_folder(const std::string& folder, std::string_view path) {
  if (folder.empty() || path.starts_with('/')) return std::string(path);
  return path.empty() ? folder : folder + "/" + std::string(path);
}

}  // namespace

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> path_folders(std::string_view path, const std::string& folder) {
  std::vector<std::string> folders;
  while (true) {
    const std::size_t end = std::min(path.find(':'), path.size());
    std::string one = from_folder(folder, path.substr(0, end));
    if (!one.empty()) folders.push_back(std::move(one));
    if (end == path.size()) return folders;
    path.remove_prefix(end + 1);
  }
}

std::string find_in_path(const std::string& name, std::string_view path,
                         const std::string& folder) {
  if (name.find('/') != std::string::npos) {
    std::string candidate = from_folder(folder, name);
    return is_program(candidate) ? candidate : "";
  }
  for (const std::string& one : path_folders(path, folder)) {
    std::string candidate = one + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return "";
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  std::string found = find_in_path(name, path == nullptr ? "/usr/bin:/bin" : path);
  if (found.empty()) return std::nullopt;
  return found;
}

}  // namespace muster::sys
