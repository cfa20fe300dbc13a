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
// In other locales, GNU sed does not match bytes that are no characters. A missing program has to
// be noticed beforehand, because a pipe returns the exit code of its last program.
constexpr std::string_view kDigest =
    "LC_ALL=C; export LC_ALL; for program in xargs sed sha256sum; do command -v $program "
    ">/dev/null "
    "|| {{ echo \"$program is not installed\" >&2; exit {}; }}; done; "
    "cd -- \"$1\" && xargs -0 -r sha256sum -- | sed \"s/^[^0-9a-f]//;s/ .*//\" | sha256sum";
constexpr std::size_t kDigits = 64;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Adds the files of one folder to `list`, and the folders in it to `folders`.
std::error_code list_folder(const fs::path& current, const std::string& top, FileList& list,
                            std::vector<fs::path>& folders) {
  std::error_code code;
  fs::directory_iterator entry(current, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const fs::path& path = entry->path();
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) continue;  // it has vanished
    if (S_ISDIR(status.st_mode) && path.filename() != kPartial) folders.push_back(path);
    if (!S_ISREG(status.st_mode)) continue;
    list.files.push_back({.path = path.lexically_relative(top).string(),
                          .bytes = static_cast<std::uint64_t>(status.st_size),
                          .modified = nanoseconds(status.st_mtim),
                          .changed = nanoseconds(status.st_ctim)});
    list.bytes += list.files.back().bytes;
  }
  return code;
}

}  // namespace

Result<FileList> list_files(const std::string& folder) {
  FileList list;
  // Not a recursive iterator, because that one ends at the first folder it cannot open.
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    const fs::path current = std::move(folders.back());
    folders.pop_back();
    const std::error_code code = list_folder(current, folder, list, folders);
    // What vanishes meanwhile is not sent either.
    if (!code || (code == std::errc::no_such_file_or_directory && current != folder)) continue;
    return unexpected(Error{.what = "cannot list the files of the directory: " + code.message(),
                            .where = {.file = current.string()}});
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
  return fmt::format("sh -c {} sh {}", sys::quote(fmt::format(kDigest, kMissingProgram)),
                     sys::quote(folder));
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
