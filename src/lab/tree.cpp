#include "lab/tree.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::lab {
namespace {

Result<void> write_entry(const std::string& path, const TreeEntry& entry) {
  if (entry.is_link) {
    ::unlink(path.c_str());
    if (::symlink(entry.content.c_str(), path.c_str()) == 0) return {};
    return unexpected(system_error("cannot make the link", path));
  }
  const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, entry.mode));
  if (!fd.valid() || sys::write_all(fd.get(), entry.content) < entry.content.size()) {
    return unexpected(system_error("cannot write the file", path));
  }
  if (::fchmod(fd.get(), entry.mode) == 0) return {};
  return unexpected(system_error("cannot set the mode", path));
}

// Removes the entry, and folders that become empty.
void remove_entry(const std::string& folder, const std::string& path) {
  ::unlink((folder + path).c_str());
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  while (parent != "/" && ::rmdir((folder + parent.string()).c_str()) == 0) {
    parent = parent.parent_path();
  }
}

}  // namespace

Result<void> write_tree(const std::string& folder, const Tree& before, const Tree& wanted) {
  for (const auto& [path, entry] : before) {
    if (!wanted.contains(path)) remove_entry(folder, path);
  }
  std::string made;  // the last folder that was made; entries of a folder are adjacent
  for (const auto& [path, entry] : wanted) {
    const auto old = before.find(path);
    if (old != before.end() && old->second == entry) continue;
    const std::string parent = folder + path.substr(0, path.rfind('/'));
    if (parent != made) MUSTER_CHECK(sys::make_folders(parent, 0755));
    made = parent;
    MUSTER_CHECK(write_entry(folder + path, entry));
  }
  return {};
}

}  // namespace muster::lab
