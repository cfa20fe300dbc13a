#include "remote/file_list.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/printable.hpp"
#include "remote/sync.hpp"
#include "sys/quote.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

// sha256sum prints "HASH  NAME", and in front of it a backslash if the name contains special
// characters. Programs differ in how they print these, so only the hashes count.
constexpr std::string_view kDigest =
    "cd -- \"$1\" && xargs -0 -r sha256sum -- | sed \"s/^[^0-9a-f]//;s/ .*//\" | sha256sum";
constexpr std::size_t kDigits = 64;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<FileList> list_files(const std::string& folder) {
  FileList list;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    struct stat status{};
    // A file that vanishes meanwhile is not sent either.
    if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    list.files.push_back({.path = entry->path().lexically_relative(folder).string(),
                          .bytes = static_cast<std::uint64_t>(status.st_size),
                          .modified = nanoseconds(status.st_mtim),
                          .changed = nanoseconds(status.st_ctim)});
    list.bytes += list.files.back().bytes;
  }
  if (code) {
    return unexpected(Error{.what = "cannot list the files of the directory: " + code.message(),
                            .where = {.file = folder}});
  }
  std::sort(list.files.begin(), list.files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
  std::vector<std::string> paths;
  paths.reserve(list.files.size());
  for (const ListedFile& file : list.files) paths.push_back(file.path);
  list.paths = path_list(paths);
  return list;
}

std::vector<std::string> changed_files(const FileList& before, const FileList& now) {
  std::vector<std::string> names;
  auto old = before.files.begin();
  auto recent = now.files.begin();
  while (old != before.files.end() || recent != now.files.end()) {
    const bool is_new =
        old == before.files.end() || (recent != now.files.end() && recent->path < old->path);
    const bool is_gone = !is_new && (recent == now.files.end() || old->path < recent->path);
    if (is_new || is_gone || *old != *recent) {
      names.push_back(printable(is_new ? recent->path : old->path));
    }
    if (!is_new) ++old;
    if (!is_gone) ++recent;
  }
  return names;
}

std::string digest_line(const std::string& folder) {
  return fmt::format("sh -c {} sh {}", sys::quote(kDigest), sys::quote(folder));
}

std::string parse_digest(std::string_view out) {
  // Before the hash, there may be a greeting of the login shell.
  while (!out.empty() && out.back() == '\n') out.remove_suffix(1);
  const std::size_t end = out.rfind('\n');
  const std::string_view line = out.substr(end == std::string_view::npos ? 0 : end + 1);
  const std::string_view hash = line.substr(0, line.find(' '));
  const bool is_hash = hash.size() == kDigits &&
                       hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_hash ? std::string(hash) : std::string();
}

}  // namespace muster::remote
