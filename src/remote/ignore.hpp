// Which files of a project stay here: .gitignore and .musterignore, read as git reads them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::remote {

// One line of an ignore file.
struct IgnorePattern {
  std::vector<std::string> parts = {};  // between slashes; "**" stands for any number of folders
  bool negated = false;                 // "!": what matches is not ignored after all
  bool only_folders = false;            // "name/"
};

// The patterns of one ignore file, and how deep below the top of the project its folder is.
struct IgnoreFile {
  std::size_t depth = 0;
  std::vector<IgnorePattern> patterns = {};
};

[[nodiscard]] std::vector<IgnorePattern> parse_ignore_file(std::string_view text);

enum class Ignored { kNotSaid, kNo, kYes };

// What the files say of a path below the top, given by its parts. Files of deeper folders come
// later; the last pattern that matches decides. All folders above the path are known to be kept.
[[nodiscard]] Ignored is_ignored(std::span<const std::string> path, bool is_folder,
                                 std::span<const IgnoreFile> files);

}  // namespace muster::remote
