#include "lab/operation.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/quote.hpp"

namespace muster::lab {
namespace {

constexpr std::size_t kKeysAtOnce = 4;
constexpr std::size_t kMaxProgramBytes = std::size_t{256} << 20;

// Writes without the precautions of sys::write_file, because these files are on our own tmpfs and
// nobody reads them yet.
Result<void> put(const std::string& path, std::string_view content, mode_t mode, uid_t owner) {
  const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return unexpected(system_error("cannot create the file", path));
  if (sys::write_all(fd.get(), content) < content.size()) {
    return unexpected(system_error("cannot write the file", path));
  }
  if (::fchown(fd.get(), owner, owner) != 0 || ::fchmod(fd.get(), mode) != 0) {
    return unexpected(system_error("cannot set owner and mode", path));
  }
  return {};
}

Result<void> apply(const MakeFolder& step) {
  MUSTER_CHECK(sys::make_folders(step.path, 0755));
  if (::chown(step.path.c_str(), step.owner, step.owner) != 0 ||
      ::chmod(step.path.c_str(), step.mode) != 0) {
    return unexpected(system_error("cannot set owner and mode", step.path));
  }
  return {};
}

Result<void> apply(const MakeMountPoint& step) {
  return sys::make_folders(step.path, 0755);
}

Result<void> apply(const WriteFile& step) {
  return put(step.path, step.content, step.mode, step.owner);
}

Result<void> apply(const WriteTree& step) {
  return write_tree(step.folder, {}, step.tree);
}

Result<void> apply(const HideBelow& step) {
  MUSTER_CHECK(sys::make_folders(step.path, 0755));
  if (::setxattr(step.path.c_str(), "trusted.overlay.opaque", "y", 1, 0) == 0) return {};
  return unexpected(system_error("cannot hide what is below", step.path));
}

Result<void> apply(const CopyFile& step) {
  MUSTER_TRY(const std::string content, sys::read_file(step.from, kMaxProgramBytes));
  return put(step.to, content, step.mode, 0);
}

Result<void> apply(const Link& step) {
  if (::symlink(step.target.c_str(), step.path.c_str()) == 0) return {};
  return unexpected(system_error("cannot make the link", step.path));
}

Result<void> apply(const Whiteout& step) {
  if (::mknod(step.path.c_str(), S_IFCHR, ::makedev(0, 0)) == 0) return {};
  return unexpected(system_error("cannot hide the path", step.path));
}

Result<void> apply(const Mount& step) {
  unsigned long flags = 0;
  const char* type = step.type.c_str();
  if (step.type == "bind") {
    flags = MS_BIND | MS_REC;
    type = nullptr;
  } else if (step.type == "private") {
    flags = MS_PRIVATE | MS_REC;
    type = nullptr;
  }
  if (::mount(step.source.c_str(), step.target.c_str(), type, flags, step.options.c_str()) == 0) {
    return {};
  }
  return unexpected(system_error(fmt::format("cannot do '{}'", to_text(step)), step.target));
}

sys::Command keygen(const MakeHostKey& step, const std::string& environment) {
  return {
      .argv = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", step.comment, "-f", step.path},
      .env = {environment}};
}

Result<void> make_keys(std::span<const Operation> steps, const std::string& environment) {
  std::vector<sys::Command> commands;
  for (const Operation& step : steps) {
    commands.push_back(keygen(std::get<MakeHostKey>(step), environment));
  }
  for (const Result<sys::Ended>& ended : sys::run_all(commands, kKeysAtOnce)) {
    if (!ended) return unexpected(ended.error());
    if (!ended->ok()) {
      return unexpected(Error{.what = fmt::format("ssh-keygen failed: {}", ended->err)});
    }
  }
  return {};
}

}  // namespace

Result<void> replay(std::span<const Operation> operations, const std::string& environment) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::size_t keys = 0;
    while (i + keys < operations.size() &&
           std::holds_alternative<MakeHostKey>(operations[i + keys])) {
      ++keys;
    }
    if (keys > 0) {
      MUSTER_CHECK(make_keys(operations.subspan(i, keys), environment));
      i += keys - 1;
      continue;
    }
    auto done = std::visit(
        [](const auto& step) -> Result<void> {
          if constexpr (std::is_same_v<std::decay_t<decltype(step)>, MakeHostKey>) {
            return {};
          } else {
            return apply(step);
          }
        },
        operations[i]);
    MUSTER_CHECK(std::move(done));
  }
  return {};
}

namespace {

struct ToText {
  std::string operator()(const MakeFolder& s) const {
    return fmt::format("mkdir -p -m {:04o} {}", s.mode, sys::quote(s.path));
  }
  std::string operator()(const MakeMountPoint& s) const {
    return fmt::format("mkdir -p {}", sys::quote(s.path));
  }
  std::string operator()(const WriteFile& s) const {
    return fmt::format("write {} ({} bytes, mode {:04o})", sys::quote(s.path), s.content.size(),
                       s.mode);
  }
  std::string operator()(const WriteTree& s) const {
    return fmt::format("write {} files below {}: {}", s.tree.size(), sys::quote(s.folder), s.what);
  }
  std::string operator()(const HideBelow& s) const {
    return fmt::format("mkdir -p {0}; setfattr -n trusted.overlay.opaque -v y {0}",
                       sys::quote(s.path));
  }
  std::string operator()(const CopyFile& s) const {
    return fmt::format("install -m {:04o} {} {}", s.mode, sys::quote(s.from), sys::quote(s.to));
  }
  std::string operator()(const Link& s) const {
    return fmt::format("ln -s {} {}", sys::quote(s.target), sys::quote(s.path));
  }
  std::string operator()(const Whiteout& s) const {
    return fmt::format("mknod {} c 0 0", sys::quote(s.path));
  }
  std::string operator()(const Mount& s) const {
    if (s.type == "bind") {
      return fmt::format("mount --rbind {} {}", sys::quote(s.source), sys::quote(s.target));
    }
    if (s.type == "private") return fmt::format("mount --make-rprivate {}", sys::quote(s.target));
    return fmt::format("mount -t {} -o '{}' {} {}", s.type, s.options, s.source,
                       sys::quote(s.target));
  }
  std::string operator()(const MakeHostKey& s) const {
    return fmt::format("ssh-keygen -q -t ed25519 -N '' -C {} -f {}", s.comment, sys::quote(s.path));
  }
};

}  // namespace

std::string to_text(const Operation& operation) {
  return std::visit(ToText{}, operation);
}

}  // namespace muster::lab
