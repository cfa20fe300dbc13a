#include "facts/hash_cache.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/json_fields.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kMostCacheBytes = std::size_t{4} << 20;
constexpr std::int64_t kMonth = std::int64_t{30} * 24 * 3600;
constexpr std::string_view kCacheName = "hashes-";
constexpr JsonLimits kCacheLimits{.bytes = kMostCacheBytes,
                                  .items = kMostHashedFiles,
                                  .text_bytes = std::size_t{512} << 10,
                                  .texts = Texts::kExact};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

HashedFile identified(const std::string& path, const struct stat& status) {
  return {.path = path,
          .device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

bool is_same_file(const HashedFile& one, const HashedFile& two) {
  return one.device == two.device && one.inode == two.inode && one.bytes == two.bytes &&
         one.modified_ns == two.modified_ns && one.changed_ns == two.changed_ns;
}

std::uint64_t parts_of(std::uint64_t bytes) {
  return (bytes + kHashedPart - 1) / kHashedPart;
}

std::uint64_t parts_read(const HashedFile& file) {
  return file.parts.size() / kHashDigits;
}

bool is_read(const HashedFile& file) {
  return parts_read(file) == parts_of(file.bytes);
}

bool is_plausible(const HashedFile& file) {
  return file.parts.size() % kHashDigits == 0 && parts_read(file) <= parts_of(file.bytes) &&
         file.parts.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct stat status_of(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) status.st_ino = 0;
  return status;
}

// The part at `offset`, which is shorter at the end of the file; empty if it cannot be read.
std::string read_part(int fd, std::uint64_t offset) {
  std::string part(kHashedPart, '\0');
  std::size_t size = 0;
  while (size < part.size()) {
    const ssize_t got =
        ::pread(fd, part.data() + size, part.size() - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  part.resize(size);
  return part;
}

// Whether the last change was so long ago that another write would change the file's times. Right
// after a change it might not, because their resolution is limited.
bool is_settled(const HashedFile& file, double now_s) {
  constexpr double kInstant = 2;
  return static_cast<double>(file.changed_ns) / 1e9 < now_s - kInstant;
}

void remove_old_caches(const std::string& folder) {
  const auto now = static_cast<std::int64_t>(sys::unix_time());
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    struct stat status{};
    if (!name.starts_with(kCacheName) || ::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && now - status.st_mtim.tv_sec > kMonth) ::unlink(path.c_str());
  }
}

}  // namespace

// The contents of the cache file. Declared outside the unnamed namespace, next to the fields of
// HashedFile, which must be found by argument-dependent lookup.
struct HashCacheFile {
  int format = 2;  // must change when the size of parts changes
  std::vector<HashedFile> files = {};
};

template <class V>
void fields(V& v, HashedFile& f) {
  v("path", f.path), v("device", f.device), v("inode", f.inode), v("bytes", f.bytes);
  v("modified_ns", f.modified_ns), v("changed_ns", f.changed_ns), v("used_s", f.used_s);
  v("parts", f.parts);
}

template <class V>
void fields(V& v, HashCacheFile& c) {
  v("format", c.format), v("files", c.files);
}

std::string to_json(const std::vector<HashedFile>& files) {
  return json_of_fields(HashCacheFile{.files = files});
}

std::vector<HashedFile> parse_hashed_files(const std::string& json) {
  auto cache = read_fields<HashCacheFile>(json, kCacheLimits);
  if (!cache || cache->format != HashCacheFile().format) return {};
  std::erase_if(cache->files, [](const HashedFile& file) { return !is_plausible(file); });
  return std::move(cache->files);
}

HashCache::HashCache(std::string path, HashBudget budget)
    : path_(std::move(path)), budget_(budget) {
  if (path_.empty()) return;
  const auto text = sys::read_file(path_, kMostCacheBytes, sys::Writers::kOnlyUsAndNoLink);
  if (!text) return;
  for (HashedFile& file : parse_hashed_files(*text)) {
    std::string name = file.path;
    files_.insert_or_assign(std::move(name), std::move(file));
  }
}

bool HashCache::may_read() {
  const auto now = std::chrono::steady_clock::now();
  if (!start_) start_ = now;
  const auto taken = now - *start_;
  return taken < budget_.time || (read_ < budget_.at_least && taken < budget_.at_least_within);
}

void HashCache::read_on(int fd, HashedFile& file) {
  while (!is_read(file) && may_read()) {
    const std::string part = read_part(fd, parts_read(file) * kHashedPart);
    if (part.empty()) return;
    read_ += part.size();
    file.parts += sys::hash_text(part);
    changed_ = true;
  }
}

std::string HashCache::hash_of(const std::string& file) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  const sys::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const struct stat status = status_of(fd.get());
  if (status.st_ino == 0) return {};
  HashedFile now = identified(file, status);
  const auto known = files_.find(file);
  if (known != files_.end() && is_same_file(known->second, now)) now = known->second;
  read_on(fd.get(), now);
  // Changed while we read.
  if (!is_same_file(identified(file, status_of(fd.get())), now)) return {};
  const double clock_s = sys::unix_time();
  now.used_s = static_cast<std::int64_t>(clock_s);
  const std::string hash = is_read(now) ? sys::hash_text(now.parts) : "";
  if (is_settled(now, clock_s)) {
    files_.insert_or_assign(file, std::move(now));
  } else {
    files_.erase(file);
  }
  return hash;
}

void HashCache::save() {
  if (path_.empty() || !changed_) return;
  std::vector<HashedFile> files;
  for (const auto& [name, file] : files_) files.push_back(file);
  std::sort(files.begin(), files.end(), [](const HashedFile& one, const HashedFile& two) {
    return std::tie(two.used_s, one.path) < std::tie(one.used_s, two.path);
  });
  if (files.size() > kMostHashedFiles) files.resize(kMostHashedFiles);
  std::string json = to_json(files);
  for (; json.size() > kMostCacheBytes; json = to_json(files)) files.resize(files.size() / 2);
  if (sys::write_file(path_, json, 0600)) changed_ = false;
}

std::string hash_cache_path(const std::string& hostname) {
  const std::string folder = sys::cache_folder();
  if (!sys::make_private_folder(folder)) return {};
  std::string path =
      fmt::format("{}/{}{}.json", folder, kCacheName, sys::hash_text(hostname).substr(0, 16));
  if (!sys::exists(path)) remove_old_caches(folder);
  return path;
}

bool is_remote_file_system(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 11> kRemote = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB 2
      0x00c36400,  // Ceph
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x5346414f,  // AFS
      0x01021997,  // 9p
      0x65735546,  // FUSE, virtiofs
  };
  return std::find(kRemote.begin(), kRemote.end(), type) != kRemote.end();
}

bool is_remote_file(const std::string& path) {
  struct statfs filesystem{};
  return ::statfs(path.c_str(), &filesystem) == 0 &&
         is_remote_file_system(static_cast<std::uint32_t>(filesystem.f_type));
}

}  // namespace muster::facts
