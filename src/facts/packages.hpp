// The Python packages in the folders of a sys.path, by the folders that pip and others leave there.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace muster::facts {

inline constexpr std::size_t kMostPackages = 4096;

struct Packages {
  // Versions by normalised name ("typing-extensions"). An editable installation is named as such,
  // with its folder: "0.1 (editable: /home/a/project)".
  std::map<std::string, std::string> versions = {};
  std::map<std::string, std::string> of_the_system = {};  // those that the distribution installed
  bool complete = true;  // false: there are more than kMostPackages
};

// Whether only the distribution installs packages into this folder of a sys.path.
[[nodiscard]] bool is_system_folder(std::string_view folder);

// Of a package that is there twice, Python imports the first. Cost: lists each folder, and opens
// one small file for each package.
[[nodiscard]] Packages read_packages(std::span<const std::string> sys_path);

}  // namespace muster::facts
