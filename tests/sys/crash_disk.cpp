#include "sys/crash_disk.hpp"

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path, mode_t mode) {
  std::error_code error;
  if (S_ISLNK(mode)) return fs::read_symlink(path, error);
  return S_ISREG(mode) ? sys::read_file(path).value_or("") : "";
}

// Returns the node as a new file is on the disk before its bytes are synced: without content.
Node without_bytes(Node node) {
  if (S_ISREG(node.mode)) node.content.clear();
  return node;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<std::string> paths_below(const std::string& folder) {
  std::vector<std::string> paths = {""};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    paths.push_back(entry.path().string().substr(folder.size() + 1));
  }
  return paths;
}

}  // namespace

CrashDisk::CrashDisk(std::string folder) : folder_(std::move(folder)) {
  look();
  sync_all();
}

void CrashDisk::look() {
  seen_.clear();
  for (const std::string& path : paths_below(folder_)) {
    const std::string full = folder_ + "/" + path;
    struct stat status{};
    if (::lstat(full.c_str(), &status) != 0) continue;
    const Seen seen{status.st_ino, {status.st_mode, content_of(full, status.st_mode)}};
    learn(full, seen);
    seen_[path] = seen;
  }
}

void CrashDisk::learn(const std::string& path, const Seen& seen) {
  if (kept_.contains(seen.inode)) return;
  held_.emplace_back(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  kept_[seen.inode] = {without_bytes(seen.node), {}};
}

void CrashDisk::sync(const std::string& path) {
  if (const auto seen = seen_.find(path); seen != seen_.end()) sync_one(path, seen->second);
}

void CrashDisk::sync_all() {
  for (const auto& [path, seen] : seen_) sync_one(path, seen);
}

void CrashDisk::sync_one(const std::string& path, const Seen& seen) {
  Kept& kept = kept_[seen.inode];
  kept = {seen.node, {}};
  if (!S_ISDIR(seen.node.mode)) return;
  for (const auto& [other, child] : seen_) {
    if (other.empty() || parent_of(other) != path) continue;
    kept.names[fs::path(other).filename()] = child.inode;
  }
}

Tree CrashDisk::in_memory() const {
  Tree tree;
  for (const auto& [path, seen] : seen_) tree[path] = seen.node;
  return tree;
}

Tree CrashDisk::with_synced_bytes() const {
  Tree tree = in_memory();
  for (const auto& [path, seen] : seen_) tree[path].content = kept_.at(seen.inode).node.content;
  return tree;
}

Tree CrashDisk::synced() const {
  Tree tree;
  add_synced(tree, "", seen_.at("").inode);
  return tree;
}

void CrashDisk::add_synced(Tree& tree, const std::string& path, ino_t inode) const {
  const Kept& kept = kept_.at(inode);
  tree[path] = kept.node;
  for (const auto& [name, child] : kept.names) {
    add_synced(tree, path.empty() ? name : path + "/" + name, child);
  }
}

Tree read_tree(const std::string& folder) {
  return CrashDisk(folder).in_memory();
}

void write_tree(const std::string& folder, const Tree& tree) {
  fs::remove_all(folder);
  for (const auto& [path, node] : tree) {
    const std::string full = folder + "/" + path;
    if (S_ISDIR(node.mode)) {
      fs::create_directory(full);
    } else if (S_ISLNK(node.mode)) {
      fs::create_symlink(node.content, full);
    } else {
      const sys::Fd fd(::open(full.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      (void)sys::write_all(fd.get(), node.content);
    }
  }
  for (auto entry = tree.rbegin(); entry != tree.rend(); ++entry) {
    const std::string full = folder + "/" + entry->first;
    constexpr timespec kLongAgo[2] = {{1, 0}, {1, 0}};
    (void)::utimensat(AT_FDCWD, full.c_str(), kLongAgo, AT_SYMLINK_NOFOLLOW);
    if (!S_ISLNK(entry->second.mode)) (void)::chmod(full.c_str(), entry->second.mode & 07777);
  }
}

}  // namespace muster::test
