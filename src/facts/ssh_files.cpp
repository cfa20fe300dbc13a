#include "facts/ssh_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kMaxGroupBytes = std::size_t{4} << 20;

std::string who(int mode, int group_bits, int other_bits) {
  const bool group = (mode & group_bits) != 0;
  const bool other = (mode & other_bits) != 0;
  if (group && other) return "its group and others";
  return group ? "its group" : other ? "others" : "";
}

// The user whose files are examined, and what the result depends on.
struct Eyes {
  int uid = 0;
  const Users& users;
  std::string groups;  // text of /etc/group; empty: no group is trusted
};

void add(std::vector<FileMode>& files, SshFile kind, const std::string& path, const Eyes& eyes) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return;  // follows links, as ssh does
  if (kind != SshFile::kTrusted && !S_ISREG(status.st_mode)) return;
  const auto mode = static_cast<int>(status.st_mode & 07777);
  const auto owner = static_cast<int>(status.st_uid);
  const bool trusts_group =
      !eyes.groups.empty() &&
      is_private_group(status.st_gid, static_cast<unsigned>(eyes.uid), eyes.users, eyes.groups);
  files.push_back({.path = path,
                   .mode = mode,
                   .uid = owner,
                   .problem = ssh_problem(kind, mode, owner, eyes.uid, trusts_group)});
}

}  // namespace

std::string ssh_problem(SshFile file, int mode, int owner, int uid, bool trusts_group) {
  if (file == SshFile::kKey) {
    // ssh checks the mode only of keys that belong to the user.
    const std::string readers = who(mode, 0070, 0007);
    if (owner != uid || readers.empty()) return {};
    return fmt::format("ssh ignores this key, because {} can read it (mode {:04o})", readers, mode);
  }
  const std::string program =
      file == SshFile::kConfig ? "ssh refuses to start" : "sshd refuses the user's keys";
  if (owner != uid && owner != 0) {
    return fmt::format("{}: it belongs to uid {}, not to uid {}", program, owner, uid);
  }
  const std::string writers = who(mode, trusts_group ? 0 : 0020, 0002);
  if (writers.empty()) return {};
  return fmt::format("{}: {} may write to it (mode {:04o})", program, writers, mode);
}

bool is_private_group(unsigned gid, unsigned uid, const Users& users, std::string_view groups) {
  bool has_user = false;
  for (const auto& [other, user] : users) {
    if (user.gid != gid) continue;
    if (other != uid) return false;
    has_user = true;
  }
  for (const std::string_view line : split(groups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3 || number<unsigned>(parts[2]) != gid) continue;
    const std::string_view members = parts.size() > 3 ? trimmed(parts[3]) : std::string_view();
    return members.empty() ? has_user : members == name_of(users, uid);
  }
  return false;
}

bool trusts_private_groups(std::string_view os_release) {
  for (const std::string_view line : split(os_release, '\n')) {
    if (!line.starts_with("ID=") && !line.starts_with("ID_LIKE=")) continue;
    if (line.find("debian") != std::string_view::npos) return true;
  }
  return false;
}

std::vector<FileMode> read_ssh_files(const std::string& home, int uid, const Users& users) {
  Eyes eyes{.uid = uid, .users = users, .groups = {}};
  if (trusts_private_groups(read_start("/etc/os-release").value_or(""))) {
    eyes.groups = read_start("/etc/group", kMaxGroupBytes).value_or("");
  }
  std::vector<FileMode> files;
  const std::string folder = home + "/.ssh";
  add(files, SshFile::kTrusted, home, eyes);
  add(files, SshFile::kTrusted, folder, eyes);
  add(files, SshFile::kTrusted, folder + "/authorized_keys", eyes);
  add(files, SshFile::kConfig, folder + "/config", eyes);
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("id_") || name.ends_with(".pub")) continue;
    add(files, SshFile::kKey, folder + "/" + name, eyes);
  }
  return files;
}

}  // namespace muster::facts
