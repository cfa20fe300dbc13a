// Finds the Python packages in the folders of a sys.path by the metadata that pip and other
// installers leave there.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace muster::facts {

inline constexpr std::size_t kMostPackages = 4096;

struct Packages {
  // Versions by normalised name ("typing-extensions"). For an editable installation, the folder is
  // added: "0.1 (editable: /home/a/project)".
  std::map<std::string, std::string> versions = {};
  // Versions of the packages that the Linux distribution installed.
  std::map<std::string, std::string> of_the_system = {};
  bool complete = true;  // false: there are more than kMostPackages
};

// Whether only the Linux distribution installs packages into this folder of a sys.path.
[[nodiscard]] bool is_system_folder(std::string_view folder);

// If a package exists twice, returns the version in the earlier folder, because Python imports that
// one. Cost: lists each folder, and opens one small file per package.
[[nodiscard]] Packages read_packages(std::span<const std::string> sys_path);

}  // namespace muster::facts
