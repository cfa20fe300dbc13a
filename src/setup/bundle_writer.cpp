#include "setup/bundle_writer.hpp"

#include <algorithm>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/diagnose.hpp"
#include "setup/key_pair.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"
#include "sys/process.hpp"

namespace muster::setup {
namespace {

constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kPrivateFile = 0600;

Result<std::string> ssh_keygen(std::vector<std::string> words, const std::string& path) {
  words.insert(words.begin(), "ssh-keygen");
  MUSTER_TRY(const sys::Ended ended, sys::run({.argv = std::move(words)}));
  if (ended.ok()) return ended.out;
  return unexpected(
      Error{.what = fmt::format("ssh-keygen failed: {}", remote::first_words(ended.err)),
            .where = {.file = path}});
}

// Changes only plain files: this process may be root, and the container's user, who owns the
// folder, could have put a link there.
Result<void> make_private(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
    return unexpected(system_error("cannot open the key", path));
  }
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "this is a link or not a regular file",
                            .where = {.file = path},
                            .hint = "remove this file; muster then creates a new key"});
  }
  if (::fchmod(fd.get(), kPrivateFile) == 0) return {};
  return unexpected(system_error("cannot set the mode of the key", path));
}

// Makes the private key if it is missing. Returns the public half with muster's comment.
Result<std::string> public_half(const std::string& path, bool& made) {
  made = !sys::exists(path);
  if (made) MUSTER_CHECK(make_key_pair(path, "muster"));
  MUSTER_CHECK(make_private(path));
  MUSTER_TRY(const std::string text, ssh_keygen({"-y", "-P", "", "-f", path}, path));
  const std::size_t type_end = text.find(' ');
  if (type_end == std::string::npos || text.substr(0, type_end) != "ssh-ed25519") {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "this is not an ed25519 key",
                            .where = {.file = path},
                            .hint = "move this file away; muster then creates a new key"});
  }
  return text.substr(0, text.find_first_of(" \n", type_end + 1)) + " muster";
}

struct KeysFound {
  BundleKeys keys;
  std::vector<std::string> made;
};

Result<KeysFound> keys_in(const std::string& folder, const std::vector<std::string>& workers) {
  KeysFound found;
  const auto find = [&](std::string_view key, std::string& half) -> Result<void> {
    bool made = false;
    MUSTER_TRY(half, public_half(fmt::format("{}/{}", folder, key), made));
    if (made) found.made.emplace_back(key);
    return {};
  };
  MUSTER_CHECK(find(kClusterKey, found.keys.cluster));
  for (const std::string& worker : workers) {
    MUSTER_CHECK(find(host_key_path(worker), found.keys.hosts.emplace_back()));
  }
  return found;
}

bool has_mode(const std::string& path, mode_t mode) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 07777) == mode;
}

// Returns the files that are missing or differ on the disk.
Result<std::vector<BundleFile>> differing(const std::string& folder, std::vector<BundleFile> files,
                                          const std::vector<std::string>& new_keys, bool force) {
  std::vector<BundleFile> result;
  for (BundleFile& file : files) {
    const std::string path = folder + "/" + file.path;
    if (sys::exists(path)) {
      MUSTER_TRY(const std::string content, sys::read_file(path));
      if (content == file.content && has_mode(path, file.mode)) continue;
      // A .pub file beside a new key was just written by ssh-keygen, so the user loses nothing.
      const bool beside_new_key =
          std::any_of(new_keys.begin(), new_keys.end(),
                      [&](const auto& key) { return file.path == key + ".pub"; });
      if (content != file.content && !force && !beside_new_key) {
        return unexpected(Error{.code = ErrorCode::kUsage,
                                .what = "this directory already has a bundle, and this file of it "
                                        "differs from what muster would write",
                                .where = {.file = path},
                                .hint = "to overwrite all files except the keys: --force"});
      }
    }
    result.push_back(std::move(file));
  }
  return result;
}

Result<void> make_folder(const std::string& path) {
  MUSTER_CHECK(sys::make_folders(path, kPrivateFolder));
  if (::chmod(path.c_str(), kPrivateFolder) == 0) return {};
  return unexpected(system_error("cannot set the mode of the directory", path));
}

Result<void> give(const std::string& path, Owner owner) {
  if (::lchown(path.c_str(), owner.user, owner.group) == 0) return {};
  return unexpected(system_error("cannot set the owner", path));
}

// Makes the container's user the owner of everything that is mounted into the containers; other
// files stay ours. Returns whether that user now owns them: only root can change owners.
Result<bool> give_all(const std::string& folder, const std::vector<BundleFile>& files,
                      const BundleOptions& options) {
  const Owner owner = options.owner;
  if (::geteuid() != 0) return owner == Owner{::geteuid(), ::getegid()};
  std::vector<std::string> paths = {"launcher", "runs", std::string(kClusterKey)};
  for (const std::string& worker : worker_names(options)) {
    paths.push_back("workers/" + worker);
    paths.push_back(host_key_path(worker));
  }
  for (const BundleFile& file : files) {
    if (file.path.find('/') != std::string::npos) paths.push_back(file.path);
  }
  for (const std::string& path : paths) MUSTER_CHECK(give(folder + "/" + path, owner));
  return true;
}

}  // namespace

Result<BundleWritten> write_bundle(const std::string& folder, const BundleOptions& options,
                                   bool force) {
  MUSTER_CHECK(check(options));
  MUSTER_CHECK(sys::make_folders(folder, 0755));
  const std::vector<std::string> workers = worker_names(options);
  MUSTER_CHECK(make_folder(folder + "/launcher"));
  MUSTER_CHECK(make_folder(folder + "/runs"));
  MUSTER_CHECK(sys::make_folders(folder + "/workers", 0755));
  for (const std::string& worker : workers) {
    MUSTER_CHECK(make_folder(folder + "/workers/" + worker));
  }
  MUSTER_TRY(KeysFound found, keys_in(folder, workers));
  const std::vector<BundleFile> files = bundle_files(options, found.keys, folder);
  BundleWritten written{.changed = found.made};
  MUSTER_TRY(const auto different, differing(folder, files, found.made, force));
  for (const BundleFile& file : different) {
    MUSTER_CHECK(sys::write_file(folder + "/" + file.path, file.content, file.mode));
    written.changed.push_back(file.path);
  }
  MUSTER_TRY(written.owner_set, give_all(folder, files, options));
  return written;
}

Result<bool> copy_program(const std::string& from, const std::string& path) {
  const auto wanted = sys::hash_file(from);
  const auto there = sys::hash_file(path);
  if (wanted && there && *wanted == *there) return false;
  std::error_code failed;
  // The scripts of the bundle must not find a half-copied file, so its name has a dot in front.
  const std::filesystem::path target(path);
  const auto copy = target.parent_path() / ("." + target.filename().string() + ".new");
  std::filesystem::copy_file(from, copy, std::filesystem::copy_options::overwrite_existing, failed);
  if (!failed) std::filesystem::permissions(copy, std::filesystem::perms(0755), failed);
  if (!failed) std::filesystem::rename(copy, target, failed);
  if (!failed) return true;
  return unexpected(Error{.what = fmt::format("cannot copy muster: {}", failed.message()),
                          .where = {.file = path}});
}

}  // namespace muster::setup
