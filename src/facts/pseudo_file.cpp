#include "facts/pseudo_file.hpp"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::facts {

std::optional<std::string> read_start(const std::string& path, std::size_t max_bytes) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return std::nullopt;
  std::string content;
  char buffer[4096];
  while (content.size() < max_bytes) {
    const std::size_t wanted = std::min(sizeof buffer, max_bytes - content.size());
    const ssize_t got = ::read(fd.get(), buffer, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return content;
}

std::string first_line(const std::string& path) {
  const std::string content = read_start(path, 4096).value_or("");
  return std::string(trimmed(std::string_view(content).substr(0, content.find('\n'))));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this folder's stream
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(open);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return names;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::string_view> result;
  for (std::size_t first = text.find_first_not_of(kBlank); first != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, first), text.size());
    result.push_back(text.substr(first, end - first));
    first = text.find_first_not_of(kBlank, end);
  }
  return result;
}

}  // namespace muster::facts
