#include "remote/merge.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

struct Origin {
  std::string host;
  fs::path file;  // the source file; empty for a folder
};

// Keyed by the path below the target. A folder sorts before its contents.
using Union = std::map<fs::path, Origin>;

Error failed(const std::error_code& code, const std::string& what, const fs::path& path) {
  return {.what = fmt::format("{}: {}", what, code.message()),
          .where = {.file = printable(path.string())}};
}

Result<bool> is_same(const fs::path& one, const fs::path& other) {
  std::error_code code;
  if (fs::equivalent(one, other, code)) return true;
  const auto bytes = fs::file_size(one, code);
  if (code || bytes != fs::file_size(other, code)) return false;
  std::ifstream first(one, std::ios::binary);
  std::ifstream second(other, std::ios::binary);
  std::vector<char> left(std::size_t{1} << 16U);
  std::vector<char> right(left.size());
  for (std::uintmax_t at = 0; at < bytes; at += left.size()) {
    const auto part =
        static_cast<std::streamsize>(std::min<std::uintmax_t>(left.size(), bytes - at));
    if (!first.read(left.data(), part) || !second.read(right.data(), part)) {
      return unexpected(Error{.what = "cannot read the copy of a host's file",
                              .where = {.file = printable(one.string())}});
    }
    if (!std::equal(left.begin(), left.begin() + part, right.begin())) return false;
  }
  return true;
}

Error conflict(const fs::path& path, const std::string& one, const std::string& other) {
  return {.what = fmt::format("{} and {} have different files of this name, so that muster cannot "
                              "merge them; nothing was changed",
                              one, other),
          .where = {.file = printable(path.string())},
          .hint =
              "for one directory per host, name both directories: muster sync --per-host "
              "--back DIR DIRECTORY"};
}

// Whether the host's file equals the one in the target, which an earlier `run --sync` may have sent
// to the host. Such a file is not new.
Result<bool> is_ours(const Origin& origin, const fs::path& place) {
  std::error_code code;
  if (!fs::is_regular_file(fs::symlink_status(place, code))) return false;
  return is_same(origin.file, place);
}

// Decides between two hosts that have the same path. If one of them still has the target's old
// file, the other host's file wins.
Result<void> settle(Origin& known, const Origin& other, const fs::path& path, const fs::path& to) {
  if (known.file.empty() && other.file.empty()) return {};
  if (known.file.empty() || other.file.empty()) {
    return unexpected(conflict(path, known.host, other.host));
  }
  MUSTER_TRY(const bool same, is_same(known.file, other.file));
  if (same) return {};
  MUSTER_TRY(const bool other_is_old, is_ours(other, to / path));
  if (other_is_old) return {};
  MUSTER_TRY(const bool known_is_old, is_ours(known, to / path));
  if (!known_is_old) return unexpected(conflict(path, known.host, other.host));
  known = other;
  return {};
}

Result<void> add(Union& all, const Received& from, const fs::path& to) {
  std::error_code code;
  fs::recursive_directory_iterator entries(from.folder, code);
  for (; !code && entries != fs::recursive_directory_iterator(); entries.increment(code)) {
    const fs::file_status status = entries->symlink_status(code);
    const fs::path path = entries->path().lexically_relative(from.folder);
    if (*path.begin() == kStaging) continue;
    const bool is_folder = fs::is_directory(status);
    if (!is_folder && !fs::is_regular_file(status)) continue;
    const Origin origin{from.host, is_folder ? fs::path() : entries->path()};
    const auto [known, is_new] = all.emplace(path, origin);
    if (!is_new) MUSTER_CHECK(settle(known->second, origin, path, to));
  }
  if (code) return unexpected(failed(code, "cannot read the copy of a host's files", from.folder));
  return {};
}

// Fails if something of another kind is at this place in the target, such as a symbolic link in
// place of a folder, which could lead outside. A link in place of a file is fine, because the file
// replaces it.
Result<void> check_place(const fs::path& place, bool is_folder) {
  std::error_code code;
  const fs::file_status there = fs::symlink_status(place, code);
  if (!fs::exists(there)) return {};
  if (is_folder ? fs::is_directory(there) : !fs::is_directory(there)) return {};
  const char* const kind = fs::is_symlink(there)     ? "a symbolic link"
                           : fs::is_directory(there) ? "a directory"
                                                     : "a file";
  return unexpected(
      Error{.what = fmt::format("this is {}, but on the hosts it is a {}; nothing was changed",
                                kind, is_folder ? "directory" : "file"),
            .where = {.file = printable(place.string())},
            .hint = "move it away, or choose another directory"});
}

Result<void> put(const fs::path& place, const Origin& origin) {
  std::error_code code;
  if (origin.file.empty()) {
    fs::create_directory(place, code);
  } else {
    fs::rename(origin.file, place, code);
  }
  if (code) return unexpected(failed(code, "cannot write", place));
  return {};
}

}  // namespace

Result<void> merge(std::span<const Received> received, const std::string& to) {
  Union all;
  for (const Received& one : received) MUSTER_CHECK(add(all, one, to));
  for (const auto& [path, origin] : all) {
    MUSTER_CHECK(check_place(to / path, origin.file.empty()));
  }
  for (const auto& [path, origin] : all) MUSTER_CHECK(put(to / path, origin));
  return {};
}

}  // namespace muster::remote
