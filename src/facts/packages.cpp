#include "facts/packages.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestVersion = 256;
constexpr std::string_view kDistInfo = ".dist-info";
constexpr std::string_view kEggInfo = ".egg-info";

struct Package {
  std::string name;
  std::string version;
};

// Ignores case and kinds of separators: "Typing_Extensions" becomes "typing-extensions".
std::string normalised(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool separates = c == '-' || c == '_' || c == '.';
    if (separates && result.ends_with('-')) continue;
    const bool is_upper = c >= 'A' && c <= 'Z';
    result += separates ? '-' : is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

// Splits "numpy-2.1.0" or, for an egg, "six-1.16.0-py3.11". Versions contain no hyphen.
Package name_and_version(std::string_view stem) {
  const std::size_t end = stem.find('-');
  if (end == std::string_view::npos) return {.name = normalised(stem)};
  const std::string_view rest = stem.substr(end + 1);
  return {.name = normalised(stem.substr(0, end)),
          .version = printable(rest.substr(0, rest.find('-')))};
}

std::string version_in_metadata(const std::string& path) {
  constexpr std::string_view kKey = "Version:";
  const std::string text = read_start(path).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(kKey)) return printable(trimmed(line.substr(kKey.size())));
  }
  return {};
}

// The source folder of an editable installation, which pip records (PEP 610). Empty for other
// installations.
std::string editable_folder(const std::string& dist_info) {
  const auto text = read_start(dist_info + "/direct_url.json");
  if (!text || text->find("editable") == std::string::npos) return {};
  const auto json = parse_json(*text);
  if (!json || !json->is_object()) return {};
  const auto info = json->find("dir_info");
  if (info == json->end() || !info->is_object() || !info->contains("editable") ||
      (*info)["editable"] != true) {
    return {};
  }
  const auto url = json->find("url");
  if (url == json->end() || !url->is_string()) return "?";
  constexpr std::string_view kFile = "file://";
  std::string folder = url->get<std::string>();
  if (folder.starts_with(kFile)) folder.erase(0, kFile.size());
  return printable(folder);
}

Package with_folder(Package package, const std::string& folder) {
  package.version += fmt::format("{}(editable: {})", package.version.empty() ? "" : " ", folder);
  return package;
}

// The package to which an entry in a folder of sys.path belongs; nothing if it belongs to none.
std::optional<Package> package_of(const std::string& folder, std::string_view entry) {
  const std::string path = fmt::format("{}/{}", folder, entry);
  if (entry.ends_with(kDistInfo)) {
    entry.remove_suffix(kDistInfo.size());
    Package package = name_and_version(entry);
    const std::string source = editable_folder(path);
    return source.empty() ? package : with_folder(std::move(package), source);
  }
  if (!entry.ends_with(kEggInfo)) return std::nullopt;
  entry.remove_suffix(kEggInfo.size());
  Package package = name_and_version(entry);
  // `setup.py develop` leaves an entry without a version in the source folder, which a .pth file
  // adds to sys.path.
  if (!package.version.empty()) return package;
  package.version = version_in_metadata(path + "/PKG-INFO");
  const bool is_installed =
      folder.ends_with("/site-packages") || folder.ends_with("/dist-packages");
  return is_installed ? package : with_folder(std::move(package), printable(folder));
}

// False for names such as "~umpy". pip renames numpy this way while it installs another version,
// and leaves it if it is interrupted.
bool is_package_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  const char first = name.front();
  return (first >= 'a' && first <= 'z') || (first >= '0' && first <= '9');
}

}  // namespace

bool is_system_folder(std::string_view folder) {
  const bool is_in_usr =
      folder.starts_with("/usr/lib/python3") || folder.starts_with("/usr/lib64/python3");
  return is_in_usr && (folder.ends_with("/dist-packages") || folder.ends_with("/site-packages"));
}

Packages read_packages(std::span<const std::string> sys_path) {
  Packages packages;
  for (const std::string& folder : sys_path) {
    auto& own = is_system_folder(folder) ? packages.of_the_system : packages.versions;
    const auto& others = &own == &packages.versions ? packages.of_the_system : packages.versions;
    for (const std::string& entry : names_in(folder)) {
      auto package = package_of(folder, entry);
      if (!package || !is_package_name(package->name)) continue;
      const std::string name = printable(package->name);
      if (others.contains(name)) continue;
      if (own.size() + others.size() >= kMostPackages) {
        packages.complete = false;
        return packages;
      }
      package->version.resize(std::min(package->version.size(), kLongestVersion));
      own.emplace(name, package->version);
    }
  }
  return packages;
}

}  // namespace muster::facts
