#include "facts/ssh_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

std::string who(int mode, int group_bits, int other_bits) {
  const bool group = (mode & group_bits) != 0;
  const bool other = (mode & other_bits) != 0;
  if (group && other) return "its group and others";
  return group ? "its group" : other ? "others" : "";
}

void add(std::vector<FileMode>& files, SshFile kind, const std::string& path, int uid) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return;  // links are followed, as ssh does
  if (kind != SshFile::kTrusted && !S_ISREG(status.st_mode)) return;
  const auto mode = static_cast<int>(status.st_mode & 07777);
  const auto owner = static_cast<int>(status.st_uid);
  files.push_back(
      {.path = path, .mode = mode, .uid = owner, .problem = ssh_problem(kind, mode, owner, uid)});
}

}  // namespace

std::string ssh_problem(SshFile file, int mode, int owner, int uid) {
  if (file == SshFile::kKey) {
    // ssh checks the mode of the user's own keys only.
    const std::string readers = who(mode, 0070, 0007);
    if (owner != uid || readers.empty()) return {};
    return fmt::format("ssh ignores this key: {} may use it (mode {:04o})", readers, mode);
  }
  const std::string program =
      file == SshFile::kConfig ? "ssh refuses to start" : "sshd refuses the user's keys";
  if (owner != uid && owner != 0) {
    return fmt::format("{}: it belongs to uid {}, not to uid {}", program, owner, uid);
  }
  const std::string writers = who(mode, 0020, 0002);
  if (writers.empty()) return {};
  return fmt::format("{}: {} may write to it (mode {:04o})", program, writers, mode);
}

std::vector<FileMode> read_ssh_files(const std::string& home, int uid) {
  std::vector<FileMode> files;
  const std::string folder = home + "/.ssh";
  add(files, SshFile::kTrusted, home, uid);
  add(files, SshFile::kTrusted, folder, uid);
  add(files, SshFile::kTrusted, folder + "/authorized_keys", uid);
  add(files, SshFile::kConfig, folder + "/config", uid);
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("id_") || name.ends_with(".pub")) continue;
    add(files, SshFile::kKey, folder + "/" + name, uid);
  }
  return files;
}

}  // namespace muster::facts
