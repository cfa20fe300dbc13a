#include "checks/copy_fix.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

// Whether the file belongs to the operating system. Copying such a file from another host would mix
// two systems.
bool is_of_the_system(std::string_view path) {
  constexpr std::array<std::string_view, 4> kFolders = {"/usr/", "/bin/", "/sbin/", "/lib"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

// The directory of the file, absolute and without "." and "..".
std::filesystem::path folder_here(const Scene& scene, const std::string& file) {
  const auto path = std::filesystem::path(scene.job.folder) / file;
  return path.parent_path().lexically_normal() / "";
}

// Whether the directory is the home directory, which contains keys, or the root of the file system.
// muster must not advise copying these to all hosts.
bool is_too_much(const std::filesystem::path& folder, const std::string& home) {
  return folder == "/" || (!home.empty() && folder == std::filesystem::path(home) / "");
}

// Whether the file is in the directory that `run --sync` copies.
bool is_in_project(const Scene& scene, const std::string& file) {
  const std::filesystem::path project = std::filesystem::path(scene.job.folder) / "";
  return !is_too_much(project, scene.launcher.home) &&
         folder_here(scene, file).string().starts_with(project.string());
}

}  // namespace

std::string copy_fix(const Scene& scene, const std::string& file) {
  if (file.find('/') == std::string::npos || is_of_the_system(file)) {
    return "install the same version, or activate the same environment, on all hosts";
  }
  if (is_too_much(folder_here(scene, file), scene.launcher.home)) {
    return "move it into a directory of its own, and copy that directory with muster sync";
  }
  const engines::HostsBy way = engines::find(scene.layout.engine.kind).hosts_by;
  if (way == engines::HostsBy::kAllocation && is_in_project(scene, file)) {
    return "start muster in a directory that all hosts of the job share; muster cannot copy files "
           "through Slurm";
  }
  return fmt::format(
      "{}copy the directory to these hosts; on the machine that has the right version:\n  muster "
      "sync {} {}",
      is_in_project(scene, file) && !scene.job.synced ? "add --sync to your command, or " : "",
      kTheHosts, sys::quote(std::string_view(file.substr(0, file.rfind('/')))));
}

std::string missing_fix(const Scene& scene, const std::string& file) {
  if (!scene.job.synced || !is_in_project(scene, file)) return copy_fix(scene, file);
  const std::filesystem::path path = std::filesystem::path(scene.job.folder) / file;
  const std::string name = path.lexically_normal().lexically_relative(scene.job.folder);
  std::string fix =
      "--sync left it out because of a line in .gitignore or .musterignore; change that line, or "
      "override it in .musterignore";
  if (name.find('/') == std::string::npos) fix += ":\n  !" + printable(name);
  return fix;
}

}  // namespace muster::checks
